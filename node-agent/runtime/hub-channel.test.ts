import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { channelProtocol } from '../../shared/contract/nodes/channel.ts';
import { HubChannel } from './hub-channel.ts';

/** A hub that accepts channels and sends nothing by itself. */
async function openChannel(): Promise<{ channel: HubChannel; hubSide: WebSocket; asked: () => number }> {
  const server = createServer();
  const sockets = new WebSocketServer({ server, handleProtocols: () => channelProtocol });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(sockets, 'connection') as Promise<[WebSocket]>;
  const hub = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const channel = new HubChannel(hub, crypto.randomUUID(), 'secret');
  await channel.ensureOpen(new AbortController().signal);
  const [hubSide] = await accepted;
  let asked = 0;
  hubSide.on('message', () => {
    asked += 1;
  });
  onTestFinished(() => {
    channel.close();
    sockets.close();
    server.close();
  });
  return { channel, hubSide, asked: () => asked };
}

const never = 600_000;

test('aborting a poll for commands closes the channel, so that the hub sends no command to it', async () => {
  const { channel, hubSide, asked } = await openChannel();
  const stop = new AbortController();
  const poll = channel.send({ type: 'poll', body: { max: 4 } }, { signal: stop.signal, timeoutMs: never });
  await expect.poll(asked).toBe(1);
  const closed = once(hubSide, 'close');
  stop.abort(new Error('the companion stops'));
  await expect(poll).rejects.toThrow('the companion stops');
  await closed;
  expect(channel.isOpen).toBe(false);
});

test('aborting a poll without commands, or a time-out of a request, leaves the channel open', async () => {
  const { channel, asked } = await openChannel();
  const stop = new AbortController();
  const poll = channel.send({ type: 'poll', body: { max: 0 } }, { signal: stop.signal, timeoutMs: never });
  await expect.poll(asked).toBe(1);
  stop.abort(new Error('there is a place'));
  await expect(poll).rejects.toThrow('there is a place');
  const beat = channel.send({ type: 'heartbeat', body: {} }, { signal: new AbortController().signal, timeoutMs: 50 });
  await expect(beat).rejects.toThrow('no answer within');
  expect(channel.isOpen).toBe(true);
});

test('a closed channel is not opened again', async () => {
  const { channel } = await openChannel();
  channel.close();
  await channel.ensureOpen(new AbortController().signal);
  expect(channel.isOpen).toBe(false);
});

test('a channel that another companion replaced waits before it opens again, and reports the reason', async () => {
  const { channel, hubSide } = await openChannel();
  const poll = channel.send(
    { type: 'poll', body: { max: 1 } },
    { signal: new AbortController().signal, timeoutMs: never },
  );
  hubSide.close(4409, 'another channel of this device took its place');
  await expect(poll).rejects.toThrow('another companion with the same identity');
  await channel.ensureOpen(new AbortController().signal);
  expect(channel.isOpen).toBe(false);
});
