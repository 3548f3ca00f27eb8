import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { receiveWebhooks } from './chat-servers.ts';

test('a webhook request that ends early does not end the demo', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  onTestFinished(() => {
    process.off('unhandledRejection', onUnhandled);
  });
  await using server = await receiveWebhooks(() => 'secret', new Map());
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of the body');
  // The server has read the first part when it answers another request.
  expect((await fetch(server.url, { method: 'POST', body: '{}' })).status).toBe(401);
  socket.destroy();
  await once(socket, 'close');
  expect((await fetch(server.url, { method: 'POST', body: '{}' })).status).toBe(401);
  await new Promise(setImmediate);
  expect(unhandled).toEqual([]);
});
