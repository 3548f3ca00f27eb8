import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database, TransactionConflict } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { WorkspaceLimits } from '../../core/limits/index.ts';
import type { ChannelRow, ChannelsDependencies } from './dependencies.ts';
import { receiveMessages } from './inbound.ts';

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

test('a rolled-back attempt to receive a message queues no run', async () => {
  const [tenantId, channelId] = [newId(), newId()];
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'channels', '{}')`, [tenantId]);
  await database.query(
    `INSERT INTO channels (id, tenant_id, provider, name, config, sealed_secrets, active) VALUES ($1, $2, 'webhook', 'c', '{}', '', true)`,
    [channelId, tenantId],
  );
  let tries = 0;
  const conflicting = {
    workspace: (id: string, work: (tx: Transaction) => Promise<unknown>) =>
      db.workspace(id, async (tx) => {
        const result = await work(tx);
        tries += 1;
        if (tries === 1) throw new TransactionConflict('others were in the way');
        return result;
      }),
  };
  const queued: string[] = [];
  const workflows = {
    listForChannel: async () => [{ id: newId() }],
    startWithin: async (tx: Transaction) => {
      const runId = newId();
      tx.onCommit(() => queued.push(runId));
      return { runId };
    },
  };
  const deps = {
    db: conflicting,
    workflows,
    limits: new WorkspaceLimits(),
  } as unknown as ChannelsDependencies;
  const channel = { id: channelId, tenantId, provider: 'webhook', name: 'c', changedBy: null } as ChannelRow;
  const message = {
    text: 'x',
    messageId: 'm',
    sessionKey: 's',
    scope: 'direct',
    title: 't',
    from: null,
    replyTo: null,
  };
  const { runIds } = await receiveMessages(
    deps,
    channel,
    [message as never],
    {},
    { actor: null, environment: 'live' },
    false,
  );
  expect(tries).toBe(2);
  expect(queued).toEqual(runIds);
});
