import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { unawaited } from '../../../test/fixtures/unawaited.ts';
import { Database } from '../db/database.ts';
import { newId } from '../ids.ts';
import { LiveTopics } from './live-topics.ts';
import { PostgresEvents } from './postgres-events.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
const day = 86_400_000;
let database: TestDatabase;
let db: Database;
const events: PostgresEvents[] = [];

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 3, applicationName: 'test', onError: () => undefined });
  for (let index = 0; index < 2; index += 1)
    events.push(await PostgresEvents.connect(database.url, testSecrets, logger));
});
afterAll(async () => {
  await Promise.all(events.map((each) => each[Symbol.asyncDispose]()));
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** Starts two processes whose followers do not poll, and records the topics that they publish. */
function startProcesses(publishIntervalMs = 5) {
  const published: string[] = [];
  const processes = events.map((each) => {
    const counted = new Proxy(each, {
      get(target, name) {
        if (name === 'publish')
          return (topic: string, payload: Record<string, string>) => {
            if (topic.startsWith('live:')) published.push(topic);
            return target.publish(topic, payload);
          };
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member as (...parameters: unknown[]) => unknown).bind(target) : member;
      },
    });
    return new LiveTopics(counted, { publishIntervalMs, pollIntervalsMs: [day] });
  });
  return {
    processes: processes as [LiveTopics, LiveTopics],
    published,
    [Symbol.dispose]: () => processes.forEach((each) => each[Symbol.dispose]()),
  };
}

test('a commit wakes followers in this and in another process, and a rollback does not', async () => {
  using started = startProcesses();
  const [here, there] = started.processes;
  db.onChanged((topic) => here.changed(topic));
  using local = here.follow('a');
  using remote = there.follow('a');
  // This process publishes the topic only after it has received the interest of the other process.
  const write = (topic: string, fails = false) =>
    db
      .workspace(newId(), async (tx) => {
        tx.changed(topic);
        if (fails) throw new Error('rolled back');
      })
      .catch(() => undefined);
  const wakes = { local: 0, remote: 0 };
  for (const [name, follower] of Object.entries({ local, remote }))
    unawaited(follower.next(never).then(() => (wakes[name as 'local' | 'remote'] += 1)));
  await write('a', true);
  expect(started.published).toEqual([]);
  await expect
    .poll(async () => {
      await write('a');
      return wakes;
    })
    .toEqual({ local: 1, remote: 1 });
});

test('a topic without followers is not published, and frequent writes are published at most once per interval', async () => {
  using started = startProcesses(40);
  const [here] = started.processes;
  for (let index = 0; index < 100; index += 1) here.changed('unfollowed');
  expect(started.published).toEqual([]);
  const follower = here.follow('often');
  for (let index = 0; index < 100; index += 1) here.changed('often');
  expect(started.published).toEqual(['live:often']);
  await expect.poll(() => started.published.length).toBe(2);
  await follower.next(never);
  follower[Symbol.dispose]();
});

test('a follower without events polls at growing intervals, and ends when its signal aborts', async () => {
  using live = new LiveTopics(events[0] as PostgresEvents, { pollIntervalsMs: [1, 1, day] });
  using follower = live.follow('quiet');
  await follower.next(never);
  await follower.next(never);
  const ending = new AbortController();
  const waiting = follower.next(ending.signal);
  let ended = false;
  unawaited(waiting.then(() => (ended = true)));
  await follower.next(AbortSignal.abort());
  expect(ended).toBe(false);
  ending.abort();
  await waiting;
});
