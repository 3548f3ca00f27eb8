import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { removeAged } from '../../../platform/db/row-retention.ts';
import { idBefore, newId } from '../../../platform/ids.ts';
import { automationsRetention } from '../product.ts';
import { appendMessage, conversationPort } from './sessions.ts';

const logger = pino({ level: 'silent' });
let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function addSession() {
  const [tenantId, sessionId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO automation_sessions (id, tenant_id, scope, key, title, memory_summary) VALUES ($1, $2, 'dm', 'k', 'k', '')`,
    [sessionId, tenantId],
  );
  const contents = async () =>
    (
      await database.query<{ content: string }>(
        'SELECT content FROM session_messages WHERE session_id = $1 ORDER BY id',
        [sessionId],
      )
    ).map(({ content }) => content);
  return { tenantId, sessionId, contents };
}

test('appending a message to a full session deletes its oldest message', async () => {
  const [full, other] = [await addSession(), await addSession()];
  const append = ({ tenantId, sessionId }: typeof full, content: string) =>
    db.workspace(tenantId, (tx) => appendMessage(tx, tenantId, sessionId, { role: 'user', content, runId: null }, 3));
  await append(other, 'other');
  for (const content of ['1', '2', '3', '4', '5']) await append(full, content);
  expect(await full.contents()).toEqual(['3', '4', '5']);
  expect(await other.contents()).toEqual(['other']);
});

describe('an agent that continues a session', () => {
  const firstMs = 1_700_000_000_000;
  const addMany = (
    { tenantId, sessionId }: { tenantId: string; sessionId: string },
    contents: string[],
    fromMs = firstMs,
  ) =>
    database.query(
      `INSERT INTO session_messages (id, tenant_id, session_id, role, content)
       SELECT id, $1, $2, 'user', content FROM unnest($3::uuid[], $4::text[]) AS given (id, content)`,
      [tenantId, sessionId, contents.map((_content, index) => idBefore(new Date(fromMs + index))), contents],
    );
  const read = async (session: { tenantId: string; sessionId: string }, summarisedThrough: string | null = null) => {
    const conversation = { id: session.sessionId, environment: 'live' as const, memorySummary: '', summarisedThrough };
    const contentsOf = (messages: { content: string }[]) => messages.map(({ content }) => content);
    return db.workspace(session.tenantId, async (tx) => ({
      newest: contentsOf(
        await conversationPort.readNewest(tx, conversation, { exceptRunId: newId(), maxCharacters: 60_000 }),
      ),
      oldest: contentsOf(await conversationPort.readOldest(tx, conversation, { maxCharacters: 2_000 })),
    }));
  };

  test('reads its newest messages and summarises its oldest ones, also when more than 500 messages have no summary', async () => {
    const session = await addSession();
    const contents = Array.from({ length: 600 }, (_unused, index) => `message ${index}`);
    await addMany(session, contents);
    expect(await read(session)).toEqual({ newest: contents.slice(100), oldest: contents.slice(0, 500) });
    const through = idBefore(new Date(firstMs + 589));
    expect(await read(session, through)).toEqual({ newest: contents.slice(590), oldest: contents.slice(590) });
  });

  test('reads a limited number of characters', async () => {
    const session = await addSession();
    await addMany(
      session,
      Array.from({ length: 40 }, (_unused, index) => `${index} ${'x'.repeat(25_000)}`),
      firstMs + 1_000,
    );
    const { newest, oldest } = await read(session);
    expect(newest.map((content) => content.slice(0, 2))).toEqual(['38', '39']);
    expect(new Set(oldest.map(({ length }) => length))).toEqual(new Set([2_000]));
  });

  test('reads neither system messages nor messages of its own run', async () => {
    const session = await addSession();
    const runId = newId();
    const { tenantId, sessionId } = session;
    await db.workspace(tenantId, async (tx) => {
      const append = (role: 'user' | 'assistant' | 'system', content: string, by: string | null) =>
        appendMessage(tx, tenantId, sessionId, { role, content, runId: by });
      await append('user', 'question', null);
      await append('system', 'note', null);
      await append('assistant', 'own', runId);
      await append('assistant', 'answer', newId());
    });
    const messages = await db.workspace(tenantId, (tx) =>
      conversationPort.readNewest(
        tx,
        { id: sessionId, environment: 'live', memorySummary: '', summarisedThrough: null },
        { exceptRunId: runId, maxCharacters: 60_000 },
      ),
    );
    expect(messages).toMatchObject([
      { role: 'user', content: 'question', runId: null },
      { role: 'assistant', content: 'answer' },
    ]);
  });
});

test('retention removes session messages after the configured days, and none when the days are 0', async () => {
  const { tenantId, sessionId, contents } = await addSession();
  const add = (id: string, content: string) =>
    database.query(
      `INSERT INTO session_messages (id, tenant_id, session_id, role, content) VALUES ($1, $2, $3, 'user', $4)`,
      [id, tenantId, sessionId, content],
    );
  await add(idBefore(new Date(Date.now() - 11 * 86_400_000)), 'old');
  await add(newId(), 'new');
  const prune = (sessionMessages: number) =>
    removeAged({ db, logger }, automationsRetention({ logs: 0, messages: 0, sessionMessages }).aged ?? []);
  await prune(0);
  expect(await contents()).toEqual(['old', 'new']);
  await prune(10);
  expect(await contents()).toEqual(['new']);
});
