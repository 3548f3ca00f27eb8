import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { untilOlderTransactionsEnd } from '../../../../test/fixtures/older-transactions.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { duringWriteLock } from '../../../../test/fixtures/write-lock.ts';
import { Database } from '../../../platform/db/database.ts';
import { LiveTopics } from '../../../platform/events/live-topics.ts';
import { PostgresEvents } from '../../../platform/events/postgres-events.ts';
import { workspaceTopic } from '../../../platform/events/workspace-topic.ts';
import { newId } from '../../../platform/ids.ts';
import { trimWorkspaceEvents, WorkspaceEvents } from './index.ts';
import { decodePosition, encodePosition } from './position.ts';

const logger = pino({ level: 'silent' });
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;
/** Two instances as in two processes. Both poll every few milliseconds. */
let processes: { live: LiveTopics; events: WorkspaceEvents }[];
let tenantId: string;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  processes = Array.from({ length: 2 }, () => {
    const live = new LiveTopics(events, { pollIntervalsMs: [5], publishIntervalMs: 5 });
    return { live, events: new WorkspaceEvents({ db, live }) };
  });
});
afterAll(async () => {
  for (const { live } of processes) live[Symbol.dispose]();
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  tenantId = newId();
  await database.query('INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, $3)', [
    tenantId,
    tenantId,
    { automations: true },
  ]);
});

interface Received {
  event: string;
  data: { type: string; id: string; name?: string; status?: string };
  id: string;
}

/** A subscriber in one of the processes. `onSend` runs after each event. */
function read({
  process = 0,
  lastEventId = undefined as string | undefined,
  onSend = async () => undefined as unknown,
}) {
  const controller = new AbortController();
  const received: Received[] = [];
  const ended = (processes[process] as (typeof processes)[number]).events.follow(
    tenantId,
    {
      signal: controller.signal,
      async send(event, data, id) {
        received.push({ event, data: data as Received['data'], id: id as string });
        await onSend();
      },
    },
    lastEventId,
  );
  const end = async () => {
    controller.abort();
    await ended;
  };
  onTestFinished(end);
  return { received, end, names: () => received.flatMap(({ data: { name } }) => name ?? []) };
}

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

interface Writer {
  query(text: string, values: unknown[]): Promise<unknown>;
}
const insertNode = (client: Writer, name: string, id = newId()) =>
  client.query(
    'INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) VALUES ($1, $2, $3, false, false)',
    [id, tenantId, name],
  );
const insertMany = (count: number, prefix: string) =>
  database.query(
    `INSERT INTO nodes (id, tenant_id, name, allow_system, allow_browser) SELECT gen_random_uuid(), $1, $2 || n, false, false FROM generate_series(1, $3::int) n`,
    [tenantId, prefix, count],
  );
const numbered = (prefix: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + from}`);

/** Inserts the next node of a subscriber, `n1` and so on, and waits until the subscriber receives its event. */
async function add({ names }: Pick<ReturnType<typeof read>, 'names'>): Promise<string> {
  const name = `n${names().length + 1}`;
  await insertNode(database, name);
  await expect.poll(() => names().at(-1)).toBe(name);
  return name;
}

/**
 * Adds events until the position of a subscriber lists no open transaction of the whole cluster: that proves that no
 * earlier event commits later. Returns their names.
 */
async function addUntilNoneOpen(reader: ReturnType<typeof read>): Promise<string[]> {
  const added: string[] = [];
  do added.push(await add(reader));
  while (decodePosition(reader.received.at(-1)?.id as string)?.seen.endsWith(':') !== true);
  return added;
}

describe('the events of a workspace', () => {
  test('include a transaction that commits after a later one, both for connected and for resuming subscribers', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.map(({ event }) => event)).toEqual(['ready']);
    const [early, late] = [await connect(), await connect()];
    await early.query('BEGIN');
    await insertNode(early, 'began first');
    await late.query('BEGIN');
    await insertNode(late, 'committed first');
    await late.query('COMMIT');
    await expect.poll(reader.names).toEqual(['committed first']);
    const known = reader.received.at(-1)?.id;
    const back = read({ process: 1, lastEventId: known });
    await early.query('COMMIT');
    await expect.poll(reader.names).toEqual(['committed first', 'began first']);
    await expect.poll(back.names).toEqual(['began first']);
    const later = read({ process: 1, lastEventId: known });
    await expect.poll(later.names).toEqual(['began first']);
    const all = read({ lastEventId: reader.received.at(-1)?.id });
    await insertNode(database, 'next');
    await expect.poll(all.names).toEqual(['next']);
  });

  test('do not wait for a transaction that stays open elsewhere', async () => {
    const open = await connect();
    await open.query('BEGIN');
    await open.query('SELECT pg_current_xact_id()');
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    await insertNode(database, 'meanwhile');
    await expect.poll(reader.names).toEqual(['meanwhile']);
  });

  test('of one row arrive in the order of its changes, whichever transaction began first', async () => {
    const id = newId();
    await insertNode(database, 'new', id);
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    const [first, second] = [await connect(), await connect()];
    const rename = (client: Client, name: string) =>
      client.query('UPDATE nodes SET name = $2 WHERE id = $1', [id, name]);
    await first.query('BEGIN; SELECT pg_current_xact_id()');
    await second.query('BEGIN; SELECT pg_current_xact_id()');
    await rename(second, 'renamed');
    const waiting = rename(first, 'renamed again');
    await second.query('COMMIT');
    await waiting;
    await first.query('COMMIT');
    await expect.poll(reader.names).toEqual(['renamed', 'renamed again']);
    const back = read({ lastEventId: reader.received[0]?.id });
    await expect.poll(back.names).toEqual(['renamed', 'renamed again']);
  });

  test('arrive exactly once across interleaved transactions, reconnects and processes', async () => {
    let writing = 6;
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      const client = await connect();
      for (let index = 0; index < 25; index += 1) {
        await client.query('BEGIN');
        await insertNode(client, `${writer}.${index}.a`);
        await delay(Math.random() * 8);
        await insertNode(client, `${writer}.${index}.b`);
        await client.query(index % 10 === 9 ? 'ROLLBACK' : 'COMMIT');
      }
      writing -= 1;
    });
    const expected = Array.from({ length: 6 }, (_, writer) =>
      Array.from({ length: 25 }, (__, index) =>
        index % 10 === 9 ? [] : [`${writer}.${index}.a`, `${writer}.${index}.b`],
      ),
    )
      .flat(2)
      .toSorted();
    const first = read({});
    await expect.poll(() => first.received.length).toBeGreaterThan(0);
    let lastEventId = first.received[0]?.id;
    await first.end();
    const got: string[] = first.names();
    lastEventId = first.received.at(-1)?.id ?? lastEventId;
    for (let visit = 0; writing > 0 || got.length < expected.length; visit += 1) {
      const reader = read({ process: visit % 2, lastEventId });
      await delay(Math.random() * 30);
      await reader.end();
      got.push(...reader.names());
      expect(reader.received.map(({ event }) => event)).not.toContain('reset');
      lastEventId = reader.received.at(-1)?.id ?? lastEventId;
      if (got.length > expected.length) break;
    }
    await Promise.all(writers);
    expect(got.toSorted()).toEqual(expected);
  });

  test('resume in the middle of a large batch without losses or duplicates', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    await insertMany(1_700, 'n');
    await expect.poll(() => reader.names().length).toBe(1_700);
    expect(reader.names()).toEqual(numbered('n', 1_700));
    for (const place of [3, 499, 500, 501, 1_234]) {
      const back = read({ process: 1, lastEventId: reader.received[place]?.id });
      await expect.poll(() => back.names().length).toBe(1_700 - place);
      expect(back.names()).toEqual(numbered('n', 1_700 - place, place + 1));
      await back.end();
    }
  });

  test('send reset only to a subscriber that resumes before the oldest retained event', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    let edge = 0;
    while (edge < 3) edge += (await addUntilNoneOpen(reader)).length;
    for (let index = 0; index < 10; index += 1) await add(reader);
    await trimWorkspaceEvents(db, { count: 10, hours: 24 });
    const kept = await database.query('SELECT 1 FROM workspace_events WHERE tenant_id = $1', [tenantId]);
    expect(kept.length).toBe(10);
    await untilOlderTransactionsEnd(database, tenantId);
    const atEdge = read({ process: 1, lastEventId: reader.received[edge]?.id });
    const outdated = read({ process: 1, lastEventId: reader.received[edge - 1]?.id });
    await expect.poll(atEdge.names).toEqual(numbered('n', 10, edge + 1));
    await expect.poll(() => outdated.received.map(({ event }) => event)).toEqual(['reset']);
    await insertNode(database, 'next');
    await expect.poll(outdated.names).toEqual(['next']);
    const back = read({ process: 1, lastEventId: outdated.received[0]?.id });
    await expect.poll(back.names).toEqual(['next']);
    expect([...reader.received, ...atEdge.received].map(({ event }) => event)).not.toContain('reset');
  });

  test('that are deleted cause a reset for a subscriber that missed one, even if a later transaction wrote it first', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    const [early, late] = [await connect(), await connect()];
    await early.query('BEGIN; SELECT pg_current_xact_id()');
    await late.query('BEGIN');
    await insertNode(late, 'of the later transaction');
    await insertNode(early, 'of the earlier transaction');
    await early.query('COMMIT');
    await expect.poll(reader.names).toEqual(['of the earlier transaction']);
    const missesLate = reader.received.at(-1)?.id;
    await late.query('COMMIT');
    await expect.poll(() => reader.names().length).toBe(2);
    const later = await addUntilNoneOpen(reader);
    await trimWorkspaceEvents(db, { count: later.length, hours: 24 });
    const kept = await database.query<{ name: string }>(
      `SELECT data->>'name' AS name FROM workspace_events WHERE tenant_id = $1 ORDER BY seq`,
      [tenantId],
    );
    expect(kept.map(({ name }) => name)).toEqual(later);
    await untilOlderTransactionsEnd(database, tenantId);
    const outdated = read({ process: 1, lastEventId: missesLate });
    await expect.poll(() => outdated.received.map(({ event }) => event)).toEqual(['reset']);
    const complete = read({ process: 1, lastEventId: reader.received.at(-1)?.id });
    await insertNode(database, 'next');
    await expect.poll(complete.names).toEqual(['next']);
    expect(complete.received.map(({ event }) => event)).not.toContain('reset');
  });

  test('remain readable until the same transaction that deletes them records the deletion', async () => {
    // Creates the record that the test locks.
    await insertNode(database, 'first');
    await trimWorkspaceEvents(db, { count: 0, hours: 24 });
    await untilOlderTransactionsEnd(database, tenantId);
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    const before = await addUntilNoneOpen(reader);
    const lastEventId = reader.received.at(-1)?.id;
    await insertNode(database, 'deleted');
    await insertNode(database, 'retained');
    await expect.poll(() => reader.names().slice(before.length)).toEqual(['deleted', 'retained']);
    const lock = await connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM workspace_event_floors WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
    const trimming = trimWorkspaceEvents(db, { count: 1, hours: 24 });
    await expect
      .poll(() =>
        database.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%workspace_event_floors%'`,
        ),
      )
      .toHaveLength(1);
    const during = read({ process: 1, lastEventId });
    await expect.poll(during.names).toEqual(['deleted', 'retained']);
    await lock.query('COMMIT');
    await trimming;
    await untilOlderTransactionsEnd(database, tenantId);
    const after = read({ process: 1, lastEventId });
    await expect.poll(() => after.received.map(({ event }) => event)).toEqual(['reset']);
  });

  test('are retained for the given number of hours', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    await insertNode(database, 'old');
    await database.query("UPDATE workspace_events SET at = now() - interval '25 hours' WHERE tenant_id = $1", [
      tenantId,
    ]);
    await insertNode(database, 'new');
    await expect.poll(() => reader.names().length).toBe(2);
    await trimWorkspaceEvents(db, { count: 10_000, hours: 24 });
    const kept = await database.query('SELECT data FROM workspace_events WHERE tenant_id = $1', [tenantId]);
    expect(kept).toMatchObject([{ data: { name: 'new' } }]);
    await untilOlderTransactionsEnd(database, tenantId);
    const outdated = read({ process: 1, lastEventId: reader.received[0]?.id });
    await expect.poll(() => outdated.received.map(({ event }) => event)).toEqual(['reset']);
  });

  test('of a removed workspace are deleted, and those of other workspaces are still trimmed', async () => {
    const [gone, later] = ['00000000-0000-7000-8000-000000000001', tenantId];
    for (const id of [gone, later])
      await database.query(
        "INSERT INTO workspace_events (tenant_id, at, type, data) VALUES ($1, now() - interval '25 hours', 'run', '{}')",
        [id],
      );
    await expect
      .poll(async () => {
        await trimWorkspaceEvents(db, { count: 10_000, hours: 24 });
        return database.query('SELECT 1 FROM workspace_events WHERE tenant_id = ANY($1)', [[gone, later]]);
      })
      .toEqual([]);
  });

  test('are trimmed in turns that start with a random workspace, and remove one batch of a large one at a time', async () => {
    await database.query('DELETE FROM workspace_events');
    const large = tenantId;
    const batch = 2_000;
    const addOld = (id: string, count: number) =>
      database.query(
        `INSERT INTO workspace_events (tenant_id, at, type, data) SELECT $1, now() - interval '25 hours', 'run', '{}' FROM generate_series(1, $2::int)`,
        [id, count],
      );
    const small = [newId(), newId()];
    for (const id of small)
      await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [id]);
    const left = async (id: string) =>
      (await database.query('SELECT 1 FROM workspace_events WHERE tenant_id = $1', [id])).length;
    await addOld(large, batch);
    const firstWorkspaces = new Set<string>();
    for (let turn = 0; turn < 100 && firstWorkspaces.size < 3; turn += 1) {
      if ((await left(large)) <= batch) await addOld(large, batch);
      for (const id of small) if ((await left(id)) === 0) await addOld(id, 1);
      // The process stops during the first removal of the turn.
      const stopping = new AbortController();
      await duringWriteLock(database, 'workspace_events', [
        () => trimWorkspaceEvents(db, { count: 10_000, hours: 24 }, stopping.signal),
        async () => stopping.abort(),
      ]);
      const [ofLarge, ...ofSmall] = await Promise.all([large, ...small].map(left));
      const trimmed = small.filter((_id, index) => ofSmall[index] === 0);
      if (ofLarge === batch) trimmed.push(large);
      expect(trimmed).toHaveLength(1);
      firstWorkspaces.add(trimmed[0] as string);
    }
    expect(firstWorkspaces.size).toBe(3);
  });

  test('send reset for the ID of another database, and ready for an invalid ID', async () => {
    const foreign = read({ lastEventId: encodePosition({ seen: '9000000000:9000000009:', partial: null }) });
    await expect.poll(() => foreign.received.map(({ event }) => event)).toEqual(['reset']);
    for (const lastEventId of [
      '',
      'x',
      '1.',
      '-',
      '0.0',
      '3.1.2',
      '.'.repeat(500),
      'zzzzzzzzzzzz.1',
      '5.5-5.5',
      "3.4'",
    ]) {
      const reader = read({ lastEventId });
      await expect.poll(() => reader.received.map(({ event }) => event)).toEqual(['ready']);
    }
  });

  test('exclude rows restored from a dump of another cluster', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    await database.query(
      `INSERT INTO workspace_events (tenant_id, transaction, type, data) VALUES ($1, '9000000000', 'node', '{"name":"restored"}')`,
      [tenantId],
    );
    await database.query(`INSERT INTO workspace_event_floors (tenant_id, transaction) VALUES ($1, '9000000000')`, [
      tenantId,
    ]);
    await insertNode(database, 'own');
    await expect.poll(reader.names).toEqual(['own']);
    await trimWorkspaceEvents(db, { count: 10_000, hours: 24 });
    expect(await database.query('SELECT data FROM workspace_events WHERE tenant_id = $1', [tenantId])).toMatchObject([
      { data: { name: 'own' } },
    ]);
  });

  test('do not block other subscribers when one is slow, and the slow one still receives all', async () => {
    const blocked = Promise.withResolvers<void>();
    const slow = read({ onSend: () => blocked.promise });
    const quick = read({});
    await expect.poll(() => [slow.received.length, quick.received.length]).toEqual([1, 1]);
    await insertMany(3_000, 'n');
    await expect.poll(() => quick.names().length).toBe(3_000);
    expect(slow.received.length).toBe(1);
    blocked.resolve();
    await expect.poll(() => slow.names().length).toBe(3_000);
    expect(slow.names()).toEqual(numbered('n', 3_000));
  });

  test('are read once for all subscribers of a process, and never without one', async () => {
    let reads = 0;
    const counted = new Proxy(db, {
      get(target, name) {
        if (name === 'read') reads += 1;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member as (...parameters: unknown[]) => unknown).bind(target) : member;
      },
    });
    using live = new LiveTopics(events, { pollIntervalsMs: [86_400_000], publishIntervalMs: 1 });
    const own = { live, events: new WorkspaceEvents({ db: counted, live }) };
    processes.push(own);
    onTestFinished(() => void processes.pop());
    const index = processes.length - 1;
    const readers = Array.from({ length: 5 }, () => read({ process: index }));
    await expect.poll(() => readers.map(({ received }) => received.length)).toEqual([1, 1, 1, 1, 1]);
    const before = reads;
    await insertNode(database, 'one');
    live.changed(workspaceTopic(tenantId));
    await expect.poll(() => readers.map((reader) => reader.names())).toEqual(Array.from({ length: 5 }, () => ['one']));
    expect(reads - before).toBe(1);
    for (const reader of readers) await reader.end();
    const after = reads;
    await insertNode(database, 'two');
    live.changed(workspaceTopic(tenantId));
    await delay(50);
    expect(reads).toBe(after);
  });

  test('of a product are sent only while the workspace is entitled to it', async () => {
    const reader = read({});
    await expect.poll(() => reader.received.length).toBe(1);
    const entitle = (automations: boolean) =>
      database.query('UPDATE tenants SET entitlements = $2 WHERE id = $1', [
        tenantId,
        { automations, business_calling: true },
      ]);
    await entitle(false);
    await insertNode(database, 'hidden');
    // A later event of another product shows that the subscriber skipped the hidden one.
    await database.query(
      `INSERT INTO workspace_events (tenant_id, type, data) VALUES ($1, 'call', '{"name":"of another product"}')`,
      [tenantId],
    );
    await expect.poll(reader.names).toEqual(['of another product']);
    await entitle(true);
    await insertNode(database, 'shown');
    await expect.poll(reader.names).toEqual(['of another product', 'shown']);
  });
});

test('decodePosition rejects an ID with a repeated transaction or too many open transactions', () => {
  expect(decodePosition(`3.1${'.0'.repeat(7_000)}`)).toBeNull();
  expect(decodePosition(`3.zz${'.1'.repeat(300)}`)).toBeNull();
  expect(decodePosition(`3.zz${'.1'.repeat(200)}`)).not.toBeNull();
});

test('decodePosition returns the position that encodePosition encoded', () => {
  for (const position of [
    { seen: '734:734:', partial: null },
    { seen: '734:790:734,735,789', partial: null },
    { seen: '734:790:740', partial: { upTo: '9007199254740000:9007199254740990:9007199254740001', seq: 12_345 } },
  ])
    expect(decodePosition(encodePosition(position))).toEqual(position);
});
