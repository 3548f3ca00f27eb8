import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { chatClient } from './chat-webhooks.ts';
import { startBenchHub } from './hub.ts';
import { milliseconds, percentile } from './table.ts';

const conversations = 50_000;
const messages = 1_000_000;
const requests = 200;

/**
 * Fills a workspace with conversations of twenty messages. Every message has a common word, every thousandth a rare
 * one.
 */
async function fill(database: PgClient, tenantId: string): Promise<void> {
  const word = (text: string) => `right(replace('${tenantId}', '-', ''), 10) || ':' || ${text}`;
  const id = (at: string, kind: number, n: string) =>
    `(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(${kind}), 3, '0') || '8' || lpad(to_hex(${n}), 15, '0'))::uuid`;
  await database.query(
    `INSERT INTO chat_conversations (id, tenant_id, name, source, status, environment, unread_count, last_position, last_seq, last_message_at, moved_at, created_at, updated_at)
     SELECT ${id("timestamptz '2026-01-01Z'", 1, 'n')}, $1, 'conversation ' || n, 'api', CASE WHEN n % 20 = 0 THEN 'open' WHEN n % 50 = 1 THEN 'pending' ELSE 'closed' END, 'live', CASE WHEN n % 40 = 0 THEN 1 ELSE 0 END, 20, 20, t, t, t, t
     FROM (SELECT n, now() - (${conversations} - n) * interval '50 seconds' AS t FROM generate_series(1, ${conversations}) n) s`,
    [tenantId],
  );
  const batch = 100_000;
  for (let from = 0; from < messages; from += batch) {
    process.stdout.write(`  ${Math.round((from / messages) * 100)} %\r`);
    await database.query(
      `INSERT INTO chat_messages (id, tenant_id, conversation_id, position, seq, content, sender_type, created_at, words)
       SELECT ${id('t', 2, 'n')}, $1, ${id("timestamptz '2026-01-01Z'", 1, `1 + n % ${conversations}`)}, 1 + n / ${conversations}, 1 + n / ${conversations}, 'hello number ' || n || CASE WHEN n % 1000 = 0 THEN ' refund' ELSE '' END, 'visitor', t,
         array_to_tsvector(ARRAY[${word("'hello'")}, ${word("'number'")}, ${word('n')}] || CASE WHEN n % 1000 = 0 THEN ARRAY[${word("'refund'")}] ELSE '{}'::text[] END)
       FROM (SELECT n, now() - (${messages} - n) * interval '2.5 seconds' AS t FROM generate_series($2::int, $3::int - 1) n) s`,
      [tenantId, from, from + batch],
    );
  }
  await database.query('VACUUM ANALYZE chat_conversations, chat_messages');
}

/** Measures lists, counts and searches over a million messages in the inbox of an agent. */
export async function measureLists(): Promise<Record<string, string>[]> {
  await using hub = await startBenchHub({ DATABASE_POOL_SIZE: '20' });
  const chat = await chatClient(hub);
  const { tenantId } = await chat.call('readToken', {});
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  await fill(database, tenantId);
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('hub/cli/cli.ts'), 'link'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTRIGGER_HOME: hub.home },
  });
  const code = new URL(stdout.trim()).searchParams.get('code') as string;
  const { token } = await chat.call('redeemSignInLink', { body: { code } });
  const dispatcher = new Agent({ connections: 1 });
  const time = async (path: string) => {
    const samples: number[] = [];
    for (let index = 0; index < requests + 20; index += 1) {
      const startedAt = performance.now();
      const { statusCode, body } = await request(`${hub.url}/tenants/${tenantId}/chat${path}`, {
        dispatcher,
        headers: { authorization: `Bearer ${token}` },
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
      if (index >= 20) samples.push(performance.now() - startedAt);
    }
    return samples;
  };
  const bare: number[] = [];
  for (let index = 0; index < requests; index += 1) {
    const startedAt = performance.now();
    await database.query(
      'SELECT * FROM chat_conversations WHERE tenant_id = $1 ORDER BY moved_at DESC, id DESC LIMIT 50',
      [tenantId],
    );
    bare.push(performance.now() - startedAt);
  }
  await database.end();
  const row = (what: string, samples: number[]) => ({
    what,
    p50: milliseconds(percentile(samples, 0.5)),
    p99: milliseconds(percentile(samples, 0.99)),
  });
  const rows = [
    row('newest 50 conversations', await time('/conversations?view=all')),
    row('open ones', await time('/conversations?view=open')),
    row('unread ones', await time('/conversations?view=unread')),
    row('all counts', await time('/counts')),
    row('search for a rare word (1,000 messages)', await time('/search?q=refund')),
    row('search for a word of every message', await time('/search?q=hello')),
    row('search for the beginning of many words', await time('/search?q=1')),
    row('search for two words, one of them rare', await time('/search?q=hello%20refund')),
    row('newest 50 conversations by bare SQL, for comparison', bare),
  ];
  await dispatcher.close();
  return rows;
}
