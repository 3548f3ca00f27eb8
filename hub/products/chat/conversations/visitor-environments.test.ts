import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrateAnew } from '../../../../test/fixtures/migrate-anew.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { migrateDatabase } from '../../../platform/db/migrate.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await acquireDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

test('the migration to visitor environments keeps live visitors, marks test visitors, and splits visitors with conversations in both environments', async () => {
  await migrateAnew(database, 97);
  await database.query(`
    INSERT INTO tenants (id, name, entitlements) VALUES (md5('t')::uuid, 't', '{}');
    INSERT INTO chat_visitors (id, tenant_id, external_id, display_name, attributes)
      SELECT md5(name)::uuid, md5('t')::uuid, name, name, '{}' FROM unnest(ARRAY['live', 'test', 'both', 'none']) name;
    INSERT INTO chat_conversations (id, tenant_id, visitor_id, name, source, environment)
      SELECT md5(visitor || environment)::uuid, md5('t')::uuid, md5(visitor)::uuid, visitor, 'api', environment
      FROM (VALUES ('live', 'live'), ('test', 'test'), ('both', 'live'), ('both', 'test')) AS given (visitor, environment);
    INSERT INTO chat_links (id, tenant_id, conversation_id, visitor_id, token_hash, expires_at)
      SELECT id, tenant_id, id, visitor_id, sha256(id::text::bytea), now() + interval '1 day' FROM chat_conversations;
  `);
  await migrateDatabase(database.url);
  expect(
    await database.query(
      `SELECT external_id, environment, id = md5(external_id)::uuid AS is_first FROM chat_visitors ORDER BY external_id, environment`,
    ),
  ).toEqual([
    { external_id: 'both', environment: 'live', is_first: true },
    { external_id: 'both', environment: 'test', is_first: false },
    { external_id: 'live', environment: 'live', is_first: true },
    { external_id: 'none', environment: 'live', is_first: true },
    { external_id: 'test', environment: 'test', is_first: true },
  ]);
  expect(
    await database.query(
      `SELECT count(*)::int AS conversations, count(l.id)::int AS links FROM chat_conversations c JOIN chat_visitors v ON v.id = c.visitor_id AND v.environment = c.environment
         LEFT JOIN chat_links l ON l.conversation_id = c.id AND l.visitor_id = c.visitor_id`,
    ),
  ).toEqual([{ conversations: 4, links: 4 }]);
});
