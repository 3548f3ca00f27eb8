import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { isSigned, startReceiver } from '../fixtures/receiver.ts';
import type { Received, Receiver } from '../fixtures/receiver.ts';
import { until } from '../fixtures/until.ts';

/** Hub processes on one database, and a receiver for every message of the workspace `demo`. */
async function scene(processes: number) {
  const database = await acquireDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const home = await mkdtemp(join(tmpdir(), 'outrigger-webhooks-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const receiver = await startReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_POOL_SIZE: '6',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'json',
  };
  const hubs = [await startHubProcess(env)];
  while (hubs.length < processes) hubs.push(await startHubProcess(env));
  let logs = '';
  for (const { child } of hubs) {
    child.stdout?.on('data', (chunk: Buffer) => (logs += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (logs += chunk.toString()));
  }
  const key = await keyOf(env);
  const [tenant] = await database.query<{ id: string }>(`SELECT id FROM tenants WHERE name = 'demo'`);
  const tenantId = tenant?.id as string;
  const clients = hubs.map(({ url }) => createClient({ baseUrl: url, fetch, token: key }));
  const [api] = clients as [(typeof clients)[number]];
  const webhook = await api.call('createWebhook', {
    params: { tenantId },
    body: { url: `${receiver.url}/hook`, events: ['message.created'] },
  });
  const conversations: string[] = [];
  for (let n = 0; n < 5; n += 1)
    conversations.push((await api.call('createChatConversation', { body: { name: `c${n}` } })).id);
  return { database, env, key, hubs, clients, receiver, webhook, conversations, logs: () => logs };
}

const eventIdOf = ({ body }: Received) => (JSON.parse(body) as { eventId: string }).eventId;

/** How often each event was received. */
function timesOf({ received }: Receiver): Map<string, number> {
  const times = new Map<string, number>();
  for (const each of received) times.set(eventIdOf(each), (times.get(eventIdOf(each)) ?? 0) + 1);
  return times;
}

test('two hub processes deliver each event once if nothing fails, in the order of its conversation, and log no secret', async () => {
  const { hubs, clients, receiver, webhook, conversations, logs } = await scene(2);
  await Promise.all(
    conversations.flatMap((id) =>
      Array.from({ length: 30 }, async (_, n) =>
        clients[n % 2]?.call('sendChatMessage', { params: { id }, body: { content: `${n}` } }),
      ),
    ),
  );
  await until(
    async () => timesOf(receiver).size === 150,
    () => `${timesOf(receiver).size} of 150 arrived`,
    180_000,
  );
  expect(receiver.received).toHaveLength(150);
  expect(receiver.mostOpen).toBeLessThanOrEqual(4);
  for (const id of conversations) {
    const sequences = receiver.received
      .map(({ body }) => (JSON.parse(body) as { payload: { sequence: number; conversation: { id: string } } }).payload)
      .filter(({ conversation }) => conversation.id === id)
      .map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 30 }, (_, n) => n + 2));
  }
  expect(await Promise.all(hubs.map((hub) => hub.stop()))).toEqual([0, 0]);
  expect(logs()).not.toContain(webhook.secret.slice(6));
});

test('a hub that is killed during deliveries loses none, and repeated deliveries have the same bytes', async () => {
  const { database, env, hubs, clients, receiver, webhook, conversations } = await scene(1);
  // After 20 requests, the receiver accepts deliveries without a response, as if the response was lost.
  receiver.answer = (_received, response) => {
    if (receiver.received.length <= 20) response.end();
  };
  const sending = Promise.all(
    conversations.flatMap((id) =>
      Array.from({ length: 12 }, async (_, n) =>
        clients[0]?.call('sendChatMessage', { params: { id }, body: { content: `${n}` } }),
      ),
    ),
  );
  // A delivery without a response ends after 15 s, so the test does not wait for all messages first.
  await until(
    async () => receiver.open === 4,
    () => `${receiver.open} deliveries are in progress`,
  );
  await sending;
  await hubs[0]?.kill();
  const before = receiver.received.length;
  receiver.answer = (_received, response) => void response.end();
  const next = await startHubProcess(env);
  const undelivered = async () =>
    database.query(`SELECT status, attempts FROM webhook_deliveries WHERE status <> 'delivered'`);
  let left: unknown[] = [];
  await until(
    async () => (left = await undelivered()).length === 0,
    () => `not delivered: ${JSON.stringify(left)}`,
    120_000,
  );
  const times = timesOf(receiver);
  expect(times.size).toBe(60);
  const again = [...times.values()].filter((count) => count > 1);
  expect(again.length).toBeGreaterThanOrEqual(4);
  expect(receiver.received.length).toBeGreaterThan(before);
  for (const eventId of times.keys())
    expect(new Set(receiver.received.filter((each) => eventIdOf(each) === eventId).map(({ body }) => body)).size).toBe(
      1,
    );
  for (const received of receiver.received.slice(before)) expect(await isSigned(received, webhook.secret)).toBe(true);
  expect(await next.stop()).toBe(0);
});

test('a hub that stops ends its delivery attempts in time and releases the unfinished ones', async () => {
  const { database, env, key, hubs, receiver, conversations } = await scene(1);
  await hubs[0]?.stop();
  const quick = await startHubProcess({ ...env, SHUTDOWN_SECONDS: '4' });
  receiver.answer = () => undefined;
  const api = createClient({ baseUrl: quick.url, fetch, token: key });
  await api.call('sendChatMessage', { params: { id: conversations[0] as string }, body: { content: 'x' } });
  await until(
    async () => receiver.open === 1,
    () => 'no delivery arrived',
  );
  expect(await quick.stop()).toBe(0);
  expect(await database.query('SELECT status, attempts, lease FROM webhook_deliveries')).toEqual([
    { status: 'pending', attempts: 0, lease: null },
  ]);
});

const keyOf = async (env: Record<string, string>) =>
  (
    JSON.parse(await cli(env, 'token', 'create', '--workspace', 'demo', '--product', 'chat', '--json')) as {
      key: string;
    }
  ).key;
