import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { removeAged } from '../../../platform/db/row-retention.ts';
import { idBefore, newId } from '../../../platform/ids.ts';
import { automationsRetention } from '../product.ts';
import { appendMessage } from './sessions.ts';

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

test('a message in a full session replaces the oldest one of this session', async () => {
  const [full, other] = [await addSession(), await addSession()];
  const append = ({ tenantId, sessionId }: typeof full, content: string) =>
    db.workspace(tenantId, (tx) => appendMessage(tx, tenantId, sessionId, { role: 'user', content, runId: null }, 3));
  await append(other, 'other');
  for (const content of ['1', '2', '3', '4', '5']) await append(full, content);
  expect(await full.contents()).toEqual(['3', '4', '5']);
  expect(await other.contents()).toEqual(['other']);
});

test('retention removes messages of sessions after their days, and none when the days are 0', async () => {
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
