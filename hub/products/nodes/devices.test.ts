import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Database } from '../../platform/db/database.ts';
import { LocalEvents } from '../../platform/events/events.ts';
import type { Events } from '../../platform/events/events.ts';
import type { RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import type { HandOut, NodeCommands } from './commands.ts';
import { Devices } from './devices.ts';
import { ParkedPolls } from './parked-polls.ts';

const nothing: HandOut = { answer: { commands: [], withdrawn: [] }, leases: [] };
const query = { wait: 25, max: 1, running: [], runningIsComplete: false };

let local: LocalEvents;
let looks: string[];
let devices: Devices;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  local = new LocalEvents(pino({ level: 'silent' }));
  looks = [];
  const events: Events = {
    publish: async (topic, payload) => local.deliver(topic, payload),
    subscribe: (topic, listener) => local.subscribe(topic, listener),
    subscribeFamily: (family, listener) => local.subscribeFamily(family, listener),
    onReconnect: (listener) => local.onReconnect(listener),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const commands = {
    handOut: async ({ nodeId }: { nodeId: string }) => {
      looks.push(nodeId);
      return nothing;
    },
    parked: new ParkedPolls(),
  } as unknown as NodeCommands;
  devices = new Devices({
    db: undefined as unknown as Database,
    events,
    rateLimiter: undefined as unknown as RateLimiter,
    commands,
    pairingKey: Buffer.alloc(0),
    pollSeconds: 25,
    heartbeatSeconds: 15,
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const park = (count: number, signal: AbortSignal) =>
  Array.from({ length: count }, (_value, index) => devices.poll({ tenantId: 't', nodeId: `n${index}` }, query, signal));
const settle = () => vi.advanceTimersByTimeAsync(0);

test('polls look again one after the other once events may have been missed, and not all at once', async () => {
  const end = new AbortController();
  const polls = park(4_000, end.signal);
  await settle();
  expect(looks).toHaveLength(4_000);
  local.reconnected();
  await settle();
  // Within ten seconds for so many: never more at a moment than the database has connections for.
  expect(looks.length - 4_000).toBeLessThan(20);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(looks.length - 4_000).toBeGreaterThan(1_500);
  expect(looks.length - 4_000).toBeLessThan(2_500);
  await vi.advanceTimersByTimeAsync(5_001);
  expect(new Set(looks.slice(4_000)).size).toBe(4_000);
  end.abort();
  await Promise.all(polls);
});

test('a poll whose device is gone looks no more, whatever wakes it', async () => {
  const gone = new AbortController();
  const [poll] = park(1, gone.signal);
  await settle();
  gone.abort();
  local.deliver('node:n0', {});
  expect(await poll).toEqual(nothing);
  expect(looks).toEqual(['n0']);
});

test('a device that waits in one poll at a time is answered in its latest', async () => {
  const { signal } = new AbortController();
  const poll = () => devices.poll({ tenantId: 't', nodeId: 'n' }, { ...query, runningIsComplete: true }, signal);
  const older = poll();
  await settle();
  const newer = poll();
  expect(await older).toEqual(nothing);
  const before = looks.length;
  local.deliver('node:n', {});
  await settle();
  expect(looks.length).toBe(before + 1);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(await newer).toEqual(nothing);
});
