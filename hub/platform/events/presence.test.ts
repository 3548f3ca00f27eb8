import { spawn } from 'node:child_process';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { unpackEvent } from './events.ts';
import { PostgresEvents } from './postgres-events.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await acquireDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const connect = () =>
  PostgresEvents.connect(database.url, testSecrets, pino({ level: 'silent' }), { answerMs: 150, presenceMs: 900 });

/** What really goes over the channel. */
async function captureChannel(): Promise<string[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const heard: string[] = [];
  client.on('notification', ({ payload }) => heard.push(unpackEvent(testSecrets, payload ?? '')?.topic ?? ''));
  await client.query('LISTEN outrigger_events');
  return heard;
}

test('a process that is alone notifies nobody, one that comes hears all from then on, and is forgotten once it is gone', async () => {
  const channel = await captureChannel();
  const told = () => channel.filter((topic) => topic === 'topic').length;
  await using here = await connect();
  const heardHere: unknown[] = [];
  using _own = here.subscribe('topic', (payload) => heardHere.push(payload['n']));
  const tellUntil = async (isTold: boolean) => {
    await expect
      .poll(async () => {
        const before = told();
        await here.publish('topic', {});
        await new Promise((resolve) => setTimeout(resolve, 20));
        return told() > before;
      })
      .toBe(isTold);
  };
  // At first somebody may be there who has not answered yet.
  await here.publish('topic', { n: 1 });
  await expect.poll(told).toBe(1);
  await tellUntil(false);

  let lookedAgain = 0;
  const there = await connect();
  using _again = there.onReconnect(() => {
    lookedAgain += 1;
  });
  const heardThere: unknown[] = [];
  using _topic = there.subscribe('topic', (payload) => heardThere.push(payload['n']));
  // Whoever did not know of it yet may have told it nothing: so it looks again.
  await expect.poll(() => lookedAgain).toBeGreaterThan(0);
  await tellUntil(true);
  // Longer than it is remembered without a word.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  // On a busy machine a process may be late to say that it is there, and then looks again: what is published meanwhile does not reach it.
  let published = 0;
  await expect
    .poll(async () => {
      published += 1;
      await here.publish('topic', { n: 2 });
      return heardThere;
    })
    .toContain(2);
  await expect
    .poll(async () => {
      await there.publish('topic', { n: 3 });
      return heardHere;
    })
    .toContain(3);

  await there[Symbol.asyncDispose]();
  await tellUntil(false);
  expect(heardHere.filter((n) => n === 2)).toHaveLength(published);
});

test('a process that stood still for longer than it is remembered is told to look again, and hears what comes then', async () => {
  await using here = await connect();
  const child = spawn(
    process.execPath,
    [new URL('../../../test/fixtures/event-listener.ts', import.meta.url).pathname],
    {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const tellUntilHeard = async (n: number) => {
    const tell = async () => {
      await here.publish('topic', { n });
      return said;
    };
    await expect.poll(tell).toContain(`heard ${n}`);
  };
  await expect.poll(() => said).toContain('listens');
  await tellUntilHeard(1);
  child.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 1_800));
  await here.publish('topic', { n: 2 });
  said = '';
  child.kill('SIGCONT');
  await expect.poll(() => said).toMatch(/looks again/);
  await tellUntilHeard(3);
});
