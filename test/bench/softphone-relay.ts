import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

/**
 * Minimal relay for comparison with the hub, in its own process. It trusts the user in the cookie and forwards frames
 * unread. Arguments: address and secret of the SIP server. It prints its port, and collects garbage on any input.
 */
const [upstreamUrl = '', secret = ''] = process.argv.slice(2);
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, handleProtocols: () => 'sip' });
const server = createServer((_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>A line</title>'),
).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
server.on('upgrade', (request, socket, head) => {
  const user = /user=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
  const upstream = new WebSocket(upstreamUrl, 'sip', {
    headers: { 'X-Outrigger-Secret': secret, 'X-Outrigger-User': user },
    perMessageDeflate: false,
  });
  upstream.once('error', () => socket.destroy());
  upstream.once('open', () =>
    sockets.handleUpgrade(request, socket, head, (browser) => {
      browser.on('message', (frame) => upstream.send(frame as Buffer, { binary: false }));
      upstream.on('message', (frame) => browser.send(frame as Buffer, { binary: false }));
      browser.on('close', () => upstream.close());
      upstream.on('close', () => browser.close());
    }),
  );
});
process.on('message', () => {
  global.gc?.();
  global.gc?.();
  process.send?.('collected');
});
process.on('disconnect', () => process.exit(0));
