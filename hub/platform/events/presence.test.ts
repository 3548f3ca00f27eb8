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

/** Collects the topics of the messages on the channel. */
async function captureChannel(): Promise<string[]> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const topics: string[] = [];
  client.on('notification', ({ payload }) => topics.push(unpackEvent(testSecrets, payload ?? '')?.topic ?? ''));
  await client.query('LISTEN outrigger_events');
  return topics;
}

test('a process sends notifications only while another process is present, and a new process receives all events', async () => {
  const channel = await captureChannel();
  const sent = () => channel.filter((topic) => topic === 'topic').length;
  await using here = await connect();
  const receivedHere: unknown[] = [];
  using _own = here.subscribe('topic', (payload) => receivedHere.push(payload['n']));
  const publishUntil = async (isSent: boolean) => {
    await expect
      .poll(async () => {
        const before = sent();
        here.publish('topic', {});
        await new Promise((resolve) => setTimeout(resolve, 20));
        return sent() > before;
      })
      .toBe(isSent);
  };
  // At first, a process may be present that has not responded yet.
  here.publish('topic', { n: 1 });
  await expect.poll(sent).toBe(1);
  await publishUntil(false);

  let reconnects = 0;
  const there = await connect();
  using _again = there.onReconnect(() => {
    reconnects += 1;
  });
  const receivedThere: unknown[] = [];
  using _topic = there.subscribe('topic', (payload) => receivedThere.push(payload['n']));
  // The other process may have sent no notifications before it knew of the new process.
  await expect.poll(() => reconnects).toBeGreaterThan(0);
  await publishUntil(true);
  // Longer than the presence of a process lasts without a message.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  // On a busy machine a process may announce its presence late. It misses the events until then, and its reconnect
  // listeners are called.
  let published = 0;
  await expect
    .poll(async () => {
      published += 1;
      here.publish('topic', { n: 2 });
      return receivedThere;
    })
    .toContain(2);
  await expect
    .poll(async () => {
      there.publish('topic', { n: 3 });
      return receivedHere;
    })
    .toContain(3);

  await there[Symbol.asyncDispose]();
  await publishUntil(false);
  expect(receivedHere.filter((n) => n === 2)).toHaveLength(published);
});

test('a process suspended for longer than its presence lasts calls its reconnect listeners, and receives later events', async () => {
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
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const publishUntilReceived = async (n: number) => {
    const publish = async () => {
      here.publish('topic', { n });
      return output;
    };
    await expect.poll(publish).toContain(`heard ${n}`);
  };
  await expect.poll(() => output).toContain('listens');
  await publishUntilReceived(1);
  child.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 1_800));
  here.publish('topic', { n: 2 });
  output = '';
  child.kill('SIGCONT');
  await expect.poll(() => output).toMatch(/looks again/);
  await publishUntilReceived(3);
});
