import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Agent, request } from 'undici';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { costColumns, milliseconds, percentile } from './table.ts';

const conversations = 50;
const messages = 5_000;
const senders = 32;
const pacedMessages = 300;
const pacedEveryMs = 50;

/** Creates a client with a Live Chat key that has all permissions. */
export async function chatClient(hub: BenchHub): Promise<Client> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [resolve('hub/cli/cli.ts'), 'token', 'create', '--product', 'chat'],
    { env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTRIGGER_HOME: hub.home } },
  );
  return createClient({ baseUrl: hub.url, fetch: fetch as never, token: stdout.trim() });
}

async function inParallel(count: number, width: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < count; index = next++) await work(index);
    }),
  );
}

/** Measures deliveries per second and their delay after the commit, while another receiver hangs. */
export async function measureDeliveries(): Promise<Record<string, string>[]> {
  await using receiver = await startReceiver();
  await using hanging = await startReceiver();
  hanging.answer = () => undefined;
  const arrivals = new Map<string, number>();
  let events = 0;
  receiver.answer = ({ body }, response) => {
    receiver.received.length = 0;
    const now = Date.now();
    response.end('ok');
    const { payload } = JSON.parse(body) as { payload: { message?: { id: string } } };
    if (payload.message === undefined) return;
    events += 1;
    if (!arrivals.has(payload.message.id)) arrivals.set(payload.message.id, now);
  };
  await using hub = await startBenchHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  const chat = await chatClient(hub);
  const { tenantId } = await chat.call('readToken', {});
  for (const { url } of [hanging, receiver])
    await chat.call('createWebhook', { params: { tenantId }, body: { url, events: ['message.created'] } });
  const ids: string[] = [];
  for (let index = 0; index < conversations; index += 1)
    ids.push((await chat.call('createChatConversation', { body: { name: `c${index}` } })).id);
  const send = (index: number) =>
    chat.call('sendChatMessage', { params: { id: ids[index % ids.length] as string }, body: { content: 'hello' } });

  const soon: number[] = [];
  for (let index = 0; index < pacedMessages; index += 1) {
    const { id, createdAt } = await send(index);
    await sleep(pacedEveryMs);
    for (let waited = 0; !arrivals.has(id) && waited < 5_000; waited += 20) await sleep(20);
    soon.push((arrivals.get(id) ?? Number.NaN) - Date.parse(createdAt));
  }

  events = 0;
  const before = await hub.usage();
  const startedAt = performance.now();
  await inParallel(messages, senders, send);
  const sentIn = (performance.now() - startedAt) / 1000;
  while (events < messages && performance.now() - startedAt < 120_000) await sleep(20);
  const seconds = (performance.now() - startedAt) / 1000;
  const cost = costColumns(before, await hub.usage(), messages);

  const dispatcher = new Agent({ connections: 4 });
  const bareStartedAt = performance.now();
  const body = JSON.stringify({ payload: {}, filler: 'x'.repeat(900) });
  await inParallel(messages, senders, async () => {
    const answer = await request(`${receiver.url}/bare`, { method: 'POST', dispatcher, body });
    await answer.body.dump();
  });
  const bareSeconds = (performance.now() - bareStartedAt) / 1000;
  await dispatcher.close();
  return [
    {
      what: `${messages} messages by ${senders} senders, each written, signed and delivered, beside a receiver that hangs`,
      'a second': (events / seconds).toFixed(0),
      'commit to first attempt p50': milliseconds(percentile(soon, 0.5)),
      p99: milliseconds(percentile(soon, 0.99)),
      'messages accepted a second': (messages / sentIn).toFixed(0),
      ...cost,
    },
    {
      what: 'bare POSTs to the same receiver over 4 connections, for comparison',
      'a second': (messages / bareSeconds).toFixed(0),
      'commit to first attempt p50': '',
      p99: '',
      'messages accepted a second': '',
      'hub, each': '',
      'PostgreSQL, each': '',
    },
  ];
}
