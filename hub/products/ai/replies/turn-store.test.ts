import { expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { claimTurns, lockTurn, renewTurns, requeueTurn } from './turn-store.ts';
import type { Turn } from './turn-store.ts';

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

test('a claim that a crash of PostgreSQL lost is invalid after another process claimed the turn', async () => {
  await using database = await acquireDatabase();
  await using db = new Database({
    url: database.url,
    maxConnections: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  const [tenantId, conversationId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'workspace', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO chat_conversations (id, tenant_id, name, source, priority, environment) VALUES ($1, $2, 'a', 'widget', 'normal', 'live')`,
    [conversationId, tenantId],
  );
  await database.query(
    `INSERT INTO chat_ai_turns (conversation_id, tenant_id, seq, due_at) VALUES ($1, $2, 1, now() - interval '1 minute')`,
    [conversationId, tenantId],
  );
  const readTurn = async () =>
    (await database.query<{ lease: number; attempts: number; leased_until: Date | null }>(
      'SELECT lease, attempts, leased_until FROM chat_ai_turns',
    )) as [{ lease: number; attempts: number; leased_until: Date | null }];
  const claim = async () => (await claimTurns(db, 1)) as [Turn];
  const isValid = (turn: Turn) => db.workspace(tenantId, (tx) => lockTurn(tx, turn));
  const [{ lease, attempts, leased_until: leasedUntil }] = await readTurn();
  const [lost] = await claim();
  expect(await isValid(lost)).toBe(true);
  // Claims commit asynchronously: after a crash, the row can be as it was before the claim.
  await database.query('UPDATE chat_ai_turns SET lease = $1, attempts = $2, leased_until = $3', [
    lease,
    attempts,
    leasedUntil,
  ]);
  const [turn] = await claim();
  expect(turn).toMatchObject({ conversationId, attempts: lost.attempts });
  expect([await isValid(lost), await isValid(turn)]).toEqual([false, true]);
  expect(await renewTurns(db, [lost])).toEqual(new Set());
  const before = await readTurn();
  await db.workspace(tenantId, (tx) => requeueTurn(tx, lost));
  expect(await readTurn()).toEqual(before);
  expect(await renewTurns(db, [turn])).toEqual(new Set([conversationId]));
});
