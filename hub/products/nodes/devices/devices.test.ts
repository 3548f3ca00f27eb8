import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { LocalEvents } from '../../../platform/events/events.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { PollResult, NodeCommands } from '../commands/index.ts';
import { WaitingPolls } from '../commands/waiting-polls.ts';
import { DevicePolls } from '../connections/device-polls.ts';

const nothing: PollResult = { response: { commands: [], withdrawn: [] }, leases: [] };
const query = { wait: 25, max: 1, running: [], runningIsComplete: false };
const context = { secretHash: 'h', isConfirmed: false, idleState: null };
/** A paired device that always has open commands, so that each of its polls queries them. */
const pairedDevice = {
  checkIn: async () => ({ tenantId: 't', nodeId: 'n', secretHash: 'h', hasOpenCommands: true }),
  pollTimedOut: () => undefined,
  findNodesToWake: async () => [],
};

let local: LocalEvents;
let queriedNodes: string[];
let timerRuns: number;
let polls: DevicePolls;
let waitingPolls: WaitingPolls;
let events: Events;
let commands: NodeCommands;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  local = new LocalEvents(testSecrets, pino({ level: 'silent' }));
  queriedNodes = [];
  timerRuns = 0;
  events = {
    publish: (topic, payload) => local.deliver(topic, payload),
    subscribe: (topic, listener) => local.subscribe(topic, listener),
    subscribeFamily: (family, listener) => local.subscribeFamily(family, listener),
    /** Each run of the shared timer reads it once. */
    get isInterrupted() {
      timerRuns += 1;
      return false;
    },
    onReconnect: (listener) => local.onReconnect(listener),
    [Symbol.asyncDispose]: async () => undefined,
  };
  waitingPolls = new WaitingPolls();
  commands = {
    leaseCommands: async ({ nodeId }: { nodeId: string }) => {
      queriedNodes.push(nodeId);
      return nothing;
    },
    waitingPolls,
  } as unknown as NodeCommands;
  polls = new DevicePolls({ events, hasInterruption: () => false, commands, secrets: pairedDevice });
});
afterEach(() => {
  vi.useRealTimers();
});

const startPolls = (count: number, signal: AbortSignal) =>
  Array.from({ length: count }, (_value, index) =>
    polls.poll({ tenantId: 't', nodeId: `n${index}` }, query, signal, context),
  );
const settle = () => vi.advanceTimersByTimeAsync(0);

test('after missed events, waiting polls query the database spread over time', async () => {
  const end = new AbortController();
  const pending = startPolls(4_000, end.signal);
  await settle();
  expect(queriedNodes).toHaveLength(4_000);
  local.reconnected();
  await settle();
  // 4,000 polls are spread over 10 s, so that they do not use all database connections.
  expect(queriedNodes.length - 4_000).toBeLessThan(20);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(queriedNodes.length - 4_000).toBeGreaterThan(1_500);
  expect(queriedNodes.length - 4_000).toBeLessThan(2_500);
  await vi.advanceTimersByTimeAsync(5_001);
  expect(new Set(queriedNodes.slice(4_000)).size).toBe(4_000);
  end.abort();
  await Promise.all(pending);
});

test('a poll whose device disconnected does not query the database when an event arrives', async () => {
  const disconnect = new AbortController();
  const [poll] = startPolls(1, disconnect.signal);
  await settle();
  disconnect.abort();
  local.deliver('node:n0', {});
  expect(await poll).toEqual(nothing);
  expect(queriedNodes).toEqual(['n0']);
});

test('a waiting poll is registered until it ends, and the shared timer stops after the last one', async () => {
  const end = new AbortController();
  const pending = startPolls(3, end.signal);
  await settle();
  expect(waitingPolls.of('n1')).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(timerRuns).toBe(4);
  end.abort();
  await Promise.all(pending);
  for (const node of ['n0', 'n1', 'n2']) expect(waitingPolls.of(node)).toEqual([]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(timerRuns).toBe(5);
});

test('an event that arrives during the query of a poll makes the poll query again before it waits', async () => {
  const checkInDone = Promise.withResolvers<void>();
  const seen = { tenantId: 't', nodeId: 'n', secretHash: 'h', hasOpenCommands: false };
  const secrets = {
    checkIn: () => checkInDone.promise.then(() => seen),
    pollTimedOut: () => undefined,
    findNodesToWake: async () => [],
  };
  const own = new DevicePolls({ events, hasInterruption: () => false, commands, secrets });
  const end = new AbortController();
  const poll = own.poll({ tenantId: 't', nodeId: 'n' }, query, end.signal, context);
  local.deliver('node:n', {});
  expect(queriedNodes).toEqual([]);
  checkInDone.resolve();
  await settle();
  expect(queriedNodes).toEqual(['n']);
  end.abort();
  expect(await poll).toEqual(nothing);
});

test('a poll without open commands ends after the shared check-in, and a poll of an unpaired device fails', async () => {
  let isPaired = true;
  const seen = { tenantId: 't', nodeId: 'n', secretHash: 'h', hasOpenCommands: false };
  const secrets = {
    checkIn: async () => (isPaired ? seen : null),
    pollTimedOut: () => undefined,
    findNodesToWake: async () => [],
  };
  const own = new DevicePolls({ events, hasInterruption: () => false, commands, secrets });
  const poll = (wait: number) =>
    own.poll({ tenantId: 't', nodeId: 'n' }, { ...query, wait }, new AbortController().signal, context);
  expect(await poll(0)).toEqual(nothing);
  expect(queriedNodes).toEqual([]);
  isPaired = false;
  await expect(poll(0)).rejects.toMatchObject({ code: 'device_secret_invalid' });
  expect(queriedNodes).toEqual([]);
});

test('a long poll finds a command whose event was lost within 30 s', async () => {
  const own = new DevicePolls({
    events,
    hasInterruption: () => false,
    commands,
    secrets: { ...pairedDevice, findNodesToWake: async () => ['n'] },
  });
  const end = new AbortController();
  const poll = own.poll({ tenantId: 't', nodeId: 'n' }, { ...query, wait: 600 }, end.signal, {
    ...context,
    idleState: own.watch('n'),
  });
  await settle();
  expect(queriedNodes).toEqual(['n']);
  await vi.advanceTimersByTimeAsync(30_500);
  expect(queriedNodes).toEqual(['n', 'n']);
  end.abort();
  expect(await poll).toEqual(nothing);
});

test('a new poll of a device with a single poll ends the previous poll', async () => {
  const { signal } = new AbortController();
  const poll = () => polls.poll({ tenantId: 't', nodeId: 'n' }, { ...query, runningIsComplete: true }, signal, context);
  const older = poll();
  await settle();
  const newer = poll();
  expect(await older).toEqual(nothing);
  const before = queriedNodes.length;
  local.deliver('node:n', {});
  await settle();
  expect(queriedNodes.length).toBe(before + 1);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(await newer).toEqual(nothing);
});
