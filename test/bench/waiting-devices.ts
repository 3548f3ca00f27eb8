import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { channelProtocol } from '../../shared/contract/nodes/channel.ts';
import { unawaited } from '../fixtures/unawaited.ts';

/** What the benchmark asks of the process that is all the devices: to have more of them wait, to have those on channels send heartbeats, or to count those that still wait. */
export type DeviceOrder =
  | { kind: 'poll' | 'channel'; url: string; devices: { id: string; secret: string }[] }
  | 'heartbeats'
  | 'count';
/** How many are connected, and how many answers they got so far; `ready` once an order is carried out. */
export interface DeviceReport {
  ready: boolean;
  open: number;
  answers: number;
}

/** Devices that connect at once, and how long until the next ones do, in milliseconds. */
const atOnce = 250;
const pauseMs = 150;

const pollSeconds = 30;
/** As the companion does. */
const channelPollSeconds = 600;
const heartbeatMs = 15_000;

const open = new Set<Socket | WebSocket>();
const beats: (() => void)[] = [];
let answers = 0;

/** A device as one that speaks bare HTTP, so that it costs the machine little. */
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

/** A device as a companion is one: a poll that waits and, once they are ordered, heartbeats. */
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
  beats.push(() => setTimeout(heartbeat, Math.random() * heartbeatMs));
}

async function onOrder(order: DeviceOrder): Promise<void> {
  const report = (ready: boolean) => process.send?.({ ready, open: open.size, answers } satisfies DeviceReport);
  if (order === 'heartbeats') for (const begin of beats) begin();
  else if (order !== 'count') {
    const url = new URL(order.url);
    const wait = order.kind === 'poll' ? waitInPolls : waitInChannel;
    for (let from = 0; from < order.devices.length; from += atOnce) {
      await Promise.all(order.devices.slice(from, from + atOnce).map(({ id, secret }) => wait(url, id, secret)));
      await delay(pauseMs);
    }
  }
  report(true);
}
process.on('message', (order: DeviceOrder) => unawaited(onOrder(order)));
process.on('disconnect', () => process.exit());
