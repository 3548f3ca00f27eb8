import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { channelProtocol } from '../../shared/contract/nodes/channel.ts';
import { unawaited } from '../fixtures/unawaited.ts';

/**
 * Orders of the benchmark to the process that runs all devices: add waiting devices, send heartbeats on channels, or
 * count waiting devices.
 */
export type DeviceOrder =
  | { kind: 'poll' | 'channel'; url: string; devices: { id: string; secret: string }[] }
  | 'heartbeats'
  | 'count';
/** Connected devices and received responses so far. `ready` is set when an order is complete. */
export interface DeviceReport {
  ready: boolean;
  open: number;
  answers: number;
}

/** Devices that connect concurrently, and the pause between two groups in milliseconds. */
const connectBatchSize = 250;
const pauseMs = 150;

const pollSeconds = 30;
/** The poll time of the companion. */
const channelPollSeconds = 600;
const heartbeatMs = 15_000;

const open = new Set<Socket | WebSocket>();
const heartbeats: (() => void)[] = [];
let answers = 0;

/** A device that polls over plain HTTP, so that it uses little of the machine. */
async function waitInPolls(url: URL, id: string, secret: string): Promise<void> {
  const socket = connect(Number(url.port), url.hostname);
  const poll = () =>
    socket.write(
      `GET /v1/automations/nodes/${id}/commands?wait=${pollSeconds}&max=1 HTTP/1.1\r\nHost: ${url.hostname}\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    );
  socket.on('data', () => {
    answers += 1;
    poll();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => open.delete(socket));
  await new Promise((done) => socket.once('connect', done));
  open.add(socket);
  poll();
}

/** A device that uses the channel like the companion: a waiting poll and, if ordered, heartbeats. */
async function waitInChannel(url: URL, id: string, secret: string): Promise<void> {
  const socket = new WebSocket(`ws://${url.host}/v1/automations/nodes/${id}/channel`, channelProtocol, {
    headers: { authorization: `Bearer ${secret}` },
    perMessageDeflate: false,
  });
  let next = 0;
  const ask = (type: string, body: object) => {
    socket.send(JSON.stringify({ id: next, type, body }));
    next += 1;
  };
  const poll = () => ask('poll', { wait: channelPollSeconds, max: 4, running: [], runningIsComplete: true });
  const heartbeat = () => {
    if (socket.readyState !== WebSocket.OPEN) return;
    ask('heartbeat', { paused: false, running: [] });
    setTimeout(heartbeat, heartbeatMs);
  };
  socket.on('message', (data: Buffer) => {
    answers += 1;
    if (data.includes('"commands"')) poll();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => open.delete(socket));
  await new Promise((done) => socket.once('open', done));
  open.add(socket);
  poll();
  heartbeats.push(() => setTimeout(heartbeat, Math.random() * heartbeatMs));
}

async function onOrder(order: DeviceOrder): Promise<void> {
  const report = (ready: boolean) => process.send?.({ ready, open: open.size, answers } satisfies DeviceReport);
  if (order === 'heartbeats') for (const begin of heartbeats) begin();
  else if (order !== 'count') {
    const url = new URL(order.url);
    const wait = order.kind === 'poll' ? waitInPolls : waitInChannel;
    for (let from = 0; from < order.devices.length; from += connectBatchSize) {
      await Promise.all(
        order.devices.slice(from, from + connectBatchSize).map(({ id, secret }) => wait(url, id, secret)),
      );
      await delay(pauseMs);
    }
  }
  report(true);
}
process.on('message', (order: DeviceOrder) => unawaited(onOrder(order)));
process.on('disconnect', () => process.exit());
