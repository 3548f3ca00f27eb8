import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client as PgClient } from 'pg';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { beginVisitors, makeConversations } from '../fixtures/live-chat.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { measureLists } from './chat-lists.ts';
import type { PagesOrder, PagesReport } from './chat-pages.ts';
import { measureDeliveries } from './chat-webhooks.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile, printTable } from './table.ts';

const parts = {
  latency: 'from the POST of a message to the socket of its visitor, with 100 and with 2,000 visitors',
  memory: 'memory of the hub per connected visitor',
  return: 'until 1,000 visitors whose connections were cut at the same time have caught up',
  agents: 'one message to 50 agents',
  lists: 'lists, counts and searches over a million messages (takes minutes)',
  deliveries: 'webhook deliveries per second and their delay, while a receiver hangs',
};
const posts = 500;
const settleMs = 6_000;

/** Starts the process that runs all pages. */
function startPages() {
  const child = spawn(process.execPath, [resolve('test/bench/chat-pages.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`the pages ended with ${String(code)}`);
  });
  died.catch(() => undefined);
  return {
    async order(order: PagesOrder): Promise<PagesReport> {
      child.send(order);
      const [report] = (await Promise.race([once(child, 'message'), died])) as [PagesReport];
      return report;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

interface Bench {
  hub: BenchHub;
  pages: ReturnType<typeof startPages>;
  tenantId: string;
  query: <Row>(text: string, values?: unknown[]) => Promise<Row[]>;
}

async function addVisitors({ hub, pages, tenantId, query }: Bench, count: number): Promise<string[]> {
  const conversations = await makeConversations({ query }, tenantId, count);
  const tokens = await beginVisitors({ query }, tenantId, conversations);
  await pages.order({ kind: 'visitors', url: hub.url, tokens });
  return conversations;
}

const columns = (samples: number[]) => ({
  p50: milliseconds(percentile(samples, 0.5)),
  p99: milliseconds(percentile(samples, 0.99)),
});

async function residentAfterGarbage(hub: BenchHub): Promise<number> {
  await delay(settleMs);
  await hub.collectGarbage();
  await delay(1_000);
  return (await hub.usage()).residentBytes;
}

export async function benchChat(args: string[]): Promise<void> {
  const wanted = readBenchArguments('chat', args, parts);
  if (wanted === null) return;
  const has = (part: keyof typeof parts) => wanted.parts.has(part);
  if (has('deliveries')) printTable('Webhook deliveries', await measureDeliveries());
  if (has('lists')) printTable('The inbox over a million messages, one request after the other', await measureLists());
  if (![...wanted.parts].some((part) => !['deliveries', 'lists'].includes(part))) return;
  await using hub = await startBenchHub({ SIGN_UP: 'open' }, { isInspected: true });
  await using pages = startPages();
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) ?? '' });
  await database.connect();
  const query = async <Row>(text: string, values: unknown[] = []) => (await database.query(text, values)).rows as Row[];
  const client = (token?: string) =>
    createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, ...(token === undefined ? {} : { token }) });
  try {
    const person = { email: 'bench@example.org', password: 'correct horse battery' };
    const { token, tenantId } = await client().call('signUp', { body: { ...person, workspaceName: 'bench' } });
    const { key: chatKey } = await client(token).call('createApiToken', {
      params: { tenantId },
      body: { name: 'bench', product: 'chat', permissions: ['chat:write'] },
    });
    const bench: Bench = { hub, pages, tenantId, query };
    const post = (conversations: string[], heardBy = 1) =>
      pages.order({ kind: 'post', url: hub.url, key: chatKey, conversations, posts, heardBy });

    const rows: Record<string, string>[] = [];
    const few = await addVisitors(bench, 100);
    // Warm-up, so that compiling code and preparing statements is not measured.
    await post(few);
    if (has('latency')) {
      const { heard, answered } = await post(few);
      rows.push({ visitors: '100', what: 'POST to socket', ...columns(heard) });
      rows.push({ visitors: '100', what: 'POST to its answer', ...columns(answered) });
    }
    const before = await residentAfterGarbage(hub);
    const many = await addVisitors(bench, 1_900);
    if (has('latency')) {
      const { heard, answered } = await post([...few, ...many]);
      rows.push({ visitors: '2,000', what: 'POST to socket', ...columns(heard) });
      rows.push({ visitors: '2,000', what: 'POST to its answer', ...columns(answered) });
      const echo = await pages.order({ kind: 'echo', sockets: 100, posts });
      rows.push({ visitors: '100', what: 'bare echo, for comparison', ...columns(echo.heard) });
      printTable(`A message to its visitor, ${posts} one after the other`, rows);
    }
    if (has('memory')) {
      const after = await residentAfterGarbage(hub);
      printTable('A visitor who is connected', [
        { visitors: '1,900', 'each takes up': `${((after - before) / 1_900 / 1024).toFixed(1)} KiB` },
      ]);
    }
    if (has('return')) {
      const took: number[] = [];
      for (let round = 0; round < 3; round += 1)
        took.push(...(await pages.order({ kind: 'cut', url: hub.url, count: 1_000 })).heard);
      printTable('Until 1,000 visitors cut off at the same time have caught up', [
        { best: milliseconds(Math.min(...took)), worst: milliseconds(Math.max(...took)) },
      ]);
    }
    if (has('agents')) {
      await pages.order({ kind: 'close' });
      // A session may have few connections, so fifty connections need several sessions.
      const tokens = await Promise.all(
        Array.from({ length: 5 }, async () => (await client().call('logIn', { body: person })).token),
      );
      for (const each of tokens)
        await pages.order({ kind: 'agents', url: hub.url, tenantId, token: each, count: 50 / tokens.length });
      await post(few, 50);
      const { heard } = await post(few, 50);
      printTable('One message, until the last of 50 agents has it', [{ ...columns(heard) }]);
    }
  } finally {
    await database.end();
  }
}
