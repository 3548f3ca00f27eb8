import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { examineSipServer } from './examine-sip-server.ts';

test('a SIP server that takes longer than a softphone waits is not reported as unavailable', async () => {
  const server = createServer((_request, response) => {
    delay(2_000).then(
      () => response.end(JSON.stringify({ result: 'kamailio 5' })),
      () => response.destroy(),
    );
  });
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'sip' });
  sockets.on('connection', (socket) =>
    socket.on('message', () => socket.send('SIP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n')),
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  expect(
    await examineSipServer({
      domain: 'sip.example.com',
      wsUrl: `ws://127.0.0.1:${port}/`,
      rpcUrl: `http://127.0.0.1:${port}/rpc`,
      sharedSecret: 'secret',
    }),
  ).toBe('kamailio 5 serves sip.example.com; media goes directly between phones');
});
