import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { claimTurns } from './turn-store.ts';

test('claimTurns shares scarce capacity among all waiting workspaces, whatever the number of their turns', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  await database.query(
    `INSERT INTO tenants (id, name, entitlements) SELECT gen_random_uuid(), 'workspace ' || n, '{}' FROM generate_series(1, 6) n`,
  );
  await database.query(
    `INSERT INTO chat_conversations (id, tenant_id, name, source, priority, environment)
     SELECT gen_random_uuid(), t.id, 'a', 'widget', 'normal', 'live' FROM tenants t CROSS JOIN generate_series(1, 12)`,
  );
  // The workspaces with the greatest ids have the latest turns.
  await database.query(
    `INSERT INTO chat_ai_turns (conversation_id, tenant_id, seq, due_at)
     SELECT id, tenant_id, 1, now() - interval '1 hour' + make_interval(secs => row_number() OVER (ORDER BY tenant_id, id)) FROM chat_conversations`,
  );
  const leasedPerWorkspace = async () =>
    (
      await database.query<{ leased: number }>(
        'SELECT count(*) FILTER (WHERE leased_until > now())::int AS leased FROM chat_ai_turns GROUP BY tenant_id',
      )
    ).map(({ leased }) => leased);
  expect(await claimTurns(db, 6)).toHaveLength(6);
  expect(await leasedPerWorkspace()).toEqual([1, 1, 1, 1, 1, 1]);
  await claimTurns(db, 9);
  expect((await leasedPerWorkspace()).toSorted()).toEqual([2, 2, 2, 3, 3, 3]);
  // Concurrent claims get different turns.
  const both = (await Promise.all([claimTurns(db, 3), claimTurns(db, 3)])).flat();
  expect(new Set(both.map(({ conversationId }) => conversationId)).size).toBe(both.length);
  await claimTurns(db, 100);
  expect(await leasedPerWorkspace()).toEqual([8, 8, 8, 8, 8, 8]);
});
