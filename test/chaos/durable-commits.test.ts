import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Database } from '../../hub/platform/db/database.ts';
import { newId } from '../../hub/platform/ids.ts';
import type { Mailer } from '../../hub/platform/mail/mail.ts';
import { RefusalMails } from '../../hub/products/ai/models/refusal-mails.ts';
import { BudgetMails } from '../../hub/products/ai/usage/budget-mails.ts';
import { reserveSequence } from '../../hub/products/calls/trunk/store.ts';
import { DeactivationMails } from '../../hub/products/webhooks/deactivation-mails.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';

const logger = pino({ level: 'silent' });
const signal = new AbortController().signal;
const tables = ['sip_trunks', 'model_breakers', 'ai_budgets', 'webhooks'];
const tenantId = newId();
let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 4, applicationName: 'durable', onError: () => undefined });
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'durable', '{}')`, [tenantId]);
  await database.query('CREATE TABLE seen_updates (table_name text NOT NULL, synchronous_commit text NOT NULL)');
  await database.query(
    `CREATE FUNCTION note_update() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
       INSERT INTO seen_updates VALUES (tg_table_name, current_setting('synchronous_commit')); RETURN NULL;
     END $$`,
  );
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** The commit mode of each update of a table by `work`. */
async function commitsOf(table: string, work: () => Promise<unknown>): Promise<string[]> {
  if (!tables.includes(table)) throw new TypeError(`no table of this test: ${table}`);
  await database.query('TRUNCATE seen_updates');
  await database.query(
    `CREATE TRIGGER note_update AFTER UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION note_update()`,
  );
  await work();
  const rows = await database.query<{ synchronous_commit: string }>(
    'SELECT synchronous_commit FROM seen_updates WHERE table_name = $1',
    [table],
  );
  return rows.map((row) => row.synchronous_commit);
}

const mailerInto = (messageIds: string[]): Mailer => ({
  async send({ messageId = '', to }) {
    messageIds.push(messageId);
    return { messageId, accepted: [...to], rejected: [] };
  },
  async [Symbol.asyncDispose]() {},
});

test('the sequence numbers of REGISTER requests are on disk before the requests are sent', async () => {
  const id = newId();
  await database.query(
    `INSERT INTO sip_trunks (id, tenant_id, host, username, sealed_password, transport, lease_epoch, lease_expires_at)
     VALUES ($1, $2, 'sip.example.com', 'u', '', 'udp', 7, now() + interval '1 hour')`,
    [id, tenantId],
  );
  let first: number | null = null;
  const commits = await commitsOf('sip_trunks', async () => {
    first = await reserveSequence(db, { id, tenant_id: tenantId, epoch: 7, contact: null, local_port: null }, 3);
  });
  expect(first).toBe(1);
  expect(commits).toEqual(['on']);
});

test('emails about models are recorded on disk before and after they are sent, and a repeated email keeps its Message-ID', async () => {
  await database.query(
    `INSERT INTO users (id, tenant_id, email, role, password_hash) VALUES ($1, $2, 'admin@durable.example', 'admin', '')`,
    [newId(), tenantId],
  );
  await database.query(
    `INSERT INTO model_breakers (scope, model_id, tenant_id, fingerprint, notified_at, notified_status, mail_due_at) VALUES ($1, 'm', $1, '', now(), 401, now())`,
    [tenantId],
  );
  const ids: string[] = [];
  const mails = new RefusalMails({ db, mailer: mailerInto(ids), logger });
  expect(await commitsOf('model_breakers', () => mails.send(signal))).toEqual(['on', 'on']);
  await database.query('UPDATE model_breakers SET mail_due_at = now()');
  await mails.send(signal);
  expect(ids).toHaveLength(2);
  expect(ids[1]).toBe(ids[0]);
});

test('emails about budgets are recorded on disk before and after they are sent', async () => {
  await database.query(
    `INSERT INTO ai_budgets (tenant_id, notified_percent, notified_day, mail_due_at) VALUES ($1, 100, (now() AT TIME ZONE 'UTC')::date, now())`,
    [tenantId],
  );
  const mails = new BudgetMails({ db, mailer: mailerInto([]), logger });
  expect(await commitsOf('ai_budgets', () => mails.send(signal))).toEqual(['on', 'on']);
});

test('emails about webhooks are recorded on disk before and after they are sent', async () => {
  await database.query(
    `INSERT INTO webhooks (id, tenant_id, url, events, description, environment, active, sealed_secret, secret_hint, mail_due_at)
     VALUES ($1, $2, 'https://example.com/', '{}', '', 'live', false, '', '', now())`,
    [newId(), tenantId],
  );
  const mails = new DeactivationMails({ db, mailer: mailerInto([]), logger });
  expect(await commitsOf('webhooks', () => mails.send(signal))).toEqual(['on', 'on']);
});
