import { expect, test } from 'vitest';
import { Database } from '../../hub/platform/db/database.ts';
import { migrateDatabase } from '../../hub/platform/db/migrate.ts';
import { newId } from '../../hub/platform/ids.ts';
import { unreachable } from '../../hub/products/calls/trunk/attempt.ts';
import {
  claimTrunks,
  forgetTrunk,
  insertTrunk,
  recordResult,
  releaseLeases,
  renewLeases,
  reserveSequence,
} from '../../hub/products/calls/trunk/store.ts';
import type { ClaimedTrunk } from '../../hub/products/calls/trunk/store.ts';
import { startCrashingPostgres } from '../fixtures/crashing-postgres.ts';

const leaseMs = 60_000;

test('after PostgreSQL crashed and lost the commit of a claim, only the worker of the next claim can use the trunk', async () => {
  const postgres = await startCrashingPostgres();
  await migrateDatabase(postgres.url);
  const open = () =>
    new Database({ url: postgres.url, maxConnections: 2, applicationName: 'test', onError: () => undefined });
  await using first = open();
  await using second = open();
  const tenantId = newId();
  await postgres.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 't', '{"business_calling": true}')`, [
    tenantId,
  ]);
  const trunk = { id: newId(), host: 'localhost', port: 5_060, username: 'acme', sealed_password: '' };
  await first.workspace(tenantId, (tx) => insertTrunk(tx, tenantId, { ...trunk, transport: 'udp' }));

  let lost: ClaimedTrunk | undefined;
  let current: ClaimedTrunk | undefined;
  while (current === undefined) {
    [lost] = await claimTrunks(first, 1, leaseMs);
    await postgres.crash();
    [current] = await claimTrunks(second, 1, leaseMs);
    // PostgreSQL may have flushed the claim before the crash. Then the trunk is still claimed.
    if (current === undefined) await releaseLeases(second, [lost as ClaimedTrunk]);
  }

  const stale = lost as ClaimedTrunk;
  expect(await reserveSequence(first, stale, 8)).toBeNull();
  expect(await recordResult(first, stale, unreachable(stale, 'refused'))).toBe(false);
  expect(await renewLeases(first, [stale], leaseMs)).toEqual([]);
  await releaseLeases(first, [stale]);
  await forgetTrunk(first, stale);
  expect(await reserveSequence(second, current, 8)).toBe(1);
  expect(await recordResult(second, current, unreachable(current, 'refused'))).toBe(true);
  expect(await renewLeases(second, [current], leaseMs)).toEqual([{ id: trunk.id }]);
});
