import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { Batcher } from './batcher.ts';
import { ConnectionShares } from './connection-shares.ts';
import { Database, isDatabaseUnavailable } from './database.ts';
import type { Transaction } from './database.ts';
import { assertedText, isAssertionFailed } from './errors.ts';
import { pipelineCommit } from './transaction.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const settle = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

const deadlocks = async () =>
  (
    await database.query<{ n: number }>(
      'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
    )
  )[0]?.n as number;

test('of two transactions that deadlock both go through: whichever was rolled back is tried again', async () => {
  await db.system((tx) =>
    tx.query('insert_a', `INSERT INTO hub_settings (key, value) VALUES ('a', '1'), ('b', '1')`, []),
  );
  const before = await deadlocks();
  const both = Promise.withResolvers<void>();
  let inside = 0;
  let tries = 0;
  const lock = (first: string, second: string) =>
    db.system(async (tx) => {
      tries += 1;
      await tx.query('add', 'UPDATE hub_settings SET value = value || $2::jsonb WHERE key = $1', [first, `"${first}"`]);
      inside += 1;
      if (inside === 2) both.resolve();
      await both.promise;
      await tx.query('add', 'UPDATE hub_settings SET value = value || $2::jsonb WHERE key = $1', [
        second,
        `"${first}"`,
      ]);
    });
  await Promise.all([lock('a', 'b'), lock('b', 'a')]);
  // PostgreSQL may roll back both when both look for a deadlock at the same time.
  expect(tries).toBeGreaterThan(2);
  await expect.poll(deadlocks).toBeGreaterThan(before);
  const rows = await database.query<{ value: unknown[] }>(`SELECT value FROM hub_settings WHERE key IN ('a', 'b')`);
  expect(rows.map(({ value }) => value.length)).toEqual([3, 3]);
});

test('a statement and a lock that take too long are told as a database that is busy, and leave the connection usable', async () => {
  await db.system((tx) => tx.query('insert_c', `INSERT INTO hub_settings (key, value) VALUES ('c', '1')`, []));
  const slow = await settle(
    db.system(async (tx) => {
      await tx.query('short', `SET LOCAL statement_timeout = '50ms'`, []);
      await tx.query('sleep', 'SELECT pg_sleep(5)', []);
    }),
  );
  expect(slow).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  await using impatient = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
    lockTimeoutMs: 100,
  });
  const waited = await db.system(async (tx) => {
    await tx.query('lock_c', `UPDATE hub_settings SET value = '2' WHERE key = 'c'`, []);
    return settle(impatient.systemStatement('lock_c', `UPDATE hub_settings SET value = '3' WHERE key = 'c'`, []));
  });
  expect(waited).toMatchObject({ code: 'unavailable' });
  expect(await impatient.systemStatement('read_c', `SELECT value FROM hub_settings WHERE key = 'c'`, [])).toEqual([
    { value: 2 },
  ]);
});

test('a server that falls silent is given up after the deadline, and what comes after it is answered again', async () => {
  await using silent = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'silent',
    onError: () => undefined,
    queryTimeoutMs: 5_000,
  });
  const count = () => silent.system((tx) => tx.query<{ n: number }>('one', 'SELECT 1 AS n', []));
  // Transactions of no workspace leave one of the two connections free.
  await Promise.all([count(), silent.workspace(crypto.randomUUID(), one)]);
  await silent.systemStatement('one', 'SELECT 1 AS n', []);
  const pids = (
    await database.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name = 'silent' AND datname = current_database()`,
    )
  ).map(({ pid }) => pid);
  expect(pids.length).toBe(3);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    const answers = await Promise.all([
      settle(count()),
      settle(count()),
      settle(silent.systemStatement('one', 'SELECT 1 AS n', [])),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ code: 'unavailable' });
    // The silent connections are gone; new ones are not silent.
    expect((await count()).rows).toEqual([{ n: 1 }]);
    await silent.ping(AbortSignal.timeout(60_000));
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
});

test('a full disk is told as such, and as a database that is not ready until a table can grow again', async () => {
  await database.query(
    `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`,
  );
  await database.query(
    'CREATE TRIGGER full_disk BEFORE INSERT ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION full_disk()',
  );
  const write = () => settle(db.system((tx) => tx.query('fill', 'INSERT INTO audit_log DEFAULT VALUES', [])));
  expect(await write()).toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('disk of the database is full'),
  });
  await database.query(
    `CREATE FUNCTION still_full() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$`,
  );
  await database.query('CREATE EVENT TRIGGER still_full ON ddl_command_end EXECUTE FUNCTION still_full()');
  await expect(db.ping(AbortSignal.timeout(60_000))).rejects.toThrow(/disk of the database is full/);
  await database.query('DROP EVENT TRIGGER still_full');
  await db.ping(AbortSignal.timeout(60_000));
  await database.query('DROP TRIGGER full_disk ON audit_log');
  expect(await write()).toMatchObject({ code: '23502' });
});

test('what is wrong by itself stays what it is', async () => {
  expect(
    await settle(db.system((tx) => tx.query('wrong', 'SELECT no_such_column FROM hub_settings', []))),
  ).toMatchObject({ code: '42703' });
});

test('a transaction that PostgreSQL did not commit is never taken for one that it did', async () => {
  const swallowed = db.system(async (tx) => {
    await tx.query('insert_d', `INSERT INTO hub_settings (key, value) VALUES ('d', '1')`, []);
    await tx.query('no_such', 'SELECT no_such_column', []).catch(() => undefined);
  });
  await expect(swallowed).rejects.toThrow('not committed');
});

test('a transaction whose begin failed says that, and not what its work made of seeing no rows', async () => {
  const role = `limited_${Date.now()}`;
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' IN ROLE outrigger_app`);
  const url = new URL(database.url);
  [url.username, url.password] = [role, 'p'];
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(async () => {
    await database.query(`DROP ROLE ${role}`);
  });
  const limited = cleanUp.use(
    new Database({
      url: url.href,
      maxConnections: 3,
      applicationName: 'limited',
      onError: () => undefined,
    }),
  );
  const failure = await settle(
    limited.system(async (tx) => {
      const { rows } = await tx.query('any_tenant', 'SELECT id FROM tenants LIMIT 1', []);
      if (rows.length === 0) throw new Error('there is no such workspace');
    }),
  );
  expect(String(failure)).toContain('permission denied to set role');
});

test('what a failed transaction left running sends nothing into the next one on its connection', async () => {
  await using single = new Database({
    url: database.url,
    maxConnections: 2,
    applicationName: 'single',
    onError: () => undefined,
  });
  await single.system((tx) =>
    tx.query('insert_late', `INSERT INTO hub_settings (key, value) VALUES ('late', '0')`, []),
  );
  let late: Promise<unknown> | undefined;
  const nextBegan = Promise.withResolvers<void>();
  const failing = single.system(async (tx) => {
    const lost = (async () => {
      await tx.query('one', 'SELECT 1', []);
      throw new Error('the lease is lost');
    })();
    const goesOn = (async () => {
      await tx.query('nap', 'SELECT pg_sleep(0.05)', []);
      await nextBegan.promise;
      await tx.query('late', `UPDATE hub_settings SET value = '1' WHERE key = 'late'`, []);
    })();
    late = settle(goesOn);
    await Promise.all([lost, goesOn]);
  });
  await expect(failing).rejects.toThrow('the lease is lost');
  const next = single.system(async (tx) => {
    nextBegan.resolve();
    await tx.query('nap', 'SELECT pg_sleep(0.05)', []);
    return (await tx.query('read_late', `SELECT value FROM hub_settings WHERE key = 'late'`, [])).rows;
  });
  expect(await next).toEqual([{ value: 0 }]);
  expect(String(await late)).toContain('the transaction is over');
});

test('what only reads can not write, and its connection is used again', async () => {
  const tenantId = crypto.randomUUID();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{}')`, [tenantId, tenantId]);
  const name = () => db.read(tenantId, (tx) => tx.query('own_name', 'SELECT name FROM tenants', []));
  for (let index = 0; index < 20; index += 1) expect((await name()).rows).toEqual([{ name: tenantId }]);
  const write = db.read(tenantId, (tx) => tx.query('rename', `UPDATE tenants SET name = 'x'`, []));
  await expect(write).rejects.toThrow('a transaction that only reads wrote');
  expect((await name()).rows).toEqual([{ name: tenantId }]);
  expect(db.load.total).toBeLessThanOrEqual(6);
});

test('connections that the server ends at any moment fail what they were used for, and nothing else', async () => {
  const ended = new AbortController();
  const own = await database.query<{ name: string }>('SELECT current_database() AS name', []);
  const ending = (async () => {
    while (!ended.signal.aborted)
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'test' AND random() < 0.5`,
        [own[0]?.name],
      );
  })();
  const until = performance.now() + 3_000;
  const failures: unknown[] = [];
  const use = async () => {
    while (performance.now() < until || failures.length === 0) {
      const failure = await settle(db.system((tx) => tx.query('one', 'SELECT 1', [])));
      if (failure !== null) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: 8 }, use));
  ended.abort();
  await ending;
  expect(failures.length).toBeGreaterThan(0);
  expect(failures.filter((failure) => !isDatabaseUnavailable(failure))).toEqual([]);
  await expect.poll(() => settle(db.system((tx) => tx.query('one', 'SELECT 1', [])))).toBeNull();
});

const insertSetting = (tx: Transaction, key: string) =>
  tx.query('insert_setting', `INSERT INTO hub_settings (key, value) VALUES ($1, '1')`, [key]);
const settingsLike = async (pattern: string) =>
  (await database.query<{ key: string }>('SELECT key FROM hub_settings WHERE key LIKE $1 ORDER BY key', [pattern])).map(
    ({ key }) => key,
  );

test('of a transaction whose commit is sent behind its statements all is there once it resolves, and nothing can be sent after', async () => {
  const late = await db.system(async (tx) => {
    const both = [insertSetting(tx, 'behind-1'), insertSetting(tx, 'behind-2')];
    pipelineCommit(tx);
    const refused = settle(insertSetting(tx, 'behind-3'));
    await Promise.all(both);
    return refused;
  });
  expect(late).toMatchObject({ message: 'the transaction is over' });
  expect(await settingsLike('behind-%')).toEqual(['behind-1', 'behind-2']);
});

test('a statement that fails before a commit sent behind it undoes all, is what is told, and leaves the connection usable', async () => {
  await using one = new Database({
    url: database.url,
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  const whole = (condition: string) =>
    one.system(async (tx) => {
      const all = [
        insertSetting(tx, 'asserted-1'),
        tx.query(
          `assert_${condition}`,
          `SELECT ${assertedText(`count(*) = ${condition}`)} FROM hub_settings WHERE key = 'asserted-1'`,
          [],
        ),
        insertSetting(tx, 'asserted-2'),
      ];
      pipelineCommit(tx);
      await Promise.all(all);
    });
  const error = await settle(whole('7'));
  expect(isAssertionFailed(error)).toBe(true);
  expect(await settingsLike('asserted-%')).toEqual([]);
  await whole('1');
  expect(await settingsLike('asserted-%')).toEqual(['asserted-1', 'asserted-2']);
  expect(one.load).toMatchObject({ total: 1, idle: 1 });
});

test('a batch whose work fails after its commit was sent is not written twice', async () => {
  const batches = new Batcher<string, void>({
    bytesOf: (key) => key.length,
    flush: (_key, keys) =>
      db.system(async (tx) => {
        const inserted = keys.map((key) => insertSetting(tx, `${key}-${Math.random()}`));
        pipelineCommit(tx);
        await Promise.all(inserted);
        throw new TypeError('a mistake in the code that reads the answers');
      }),
  });
  const answers = await Promise.all(['sent-1', 'sent-2'].map((key) => settle(batches.add('all', key))));
  expect(answers).toMatchObject(
    Array.from({ length: 2 }, () => ({ name: 'DatabaseOutage', cause: { name: 'TypeError' } })),
  );
  expect(await settingsLike('sent-%')).toHaveLength(2);
});

test('a part of a joined transaction that would have its commit sent commits nothing by itself', async () => {
  const undone = await settle(
    db.joined(async () => {
      await db.system(async (tx) => {
        const inserted = insertSetting(tx, 'joined-1');
        pipelineCommit(tx);
        await inserted;
      });
      throw new Error('undone');
    }),
  );
  expect(undone).toMatchObject({ message: 'undone' });
  expect(await settingsLike('joined-%')).toEqual([]);
});

test('of statements sent one behind the other the one that failed the transaction is told, however soon the others are heard', async () => {
  const error = await settle(
    db.system(async (tx) => {
      const nested = async () => {
        await (async () => tx.query('fails', 'SELECT 1 / count(*) FROM hub_settings WHERE false', []))();
      };
      await Promise.all([nested(), insertSetting(tx, 'aborted-1')]);
    }),
  );
  expect(error).toMatchObject({ code: '22012' });
});

/** A workspace, and what waits in it for a lock that a test holds. */
async function stuckWorkspace(own: Database, count: number, lockId = 4711) {
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [lockId]);
  const tenantId = crypto.randomUUID();
  const lock = (tx: Transaction) => tx.query('lock', 'SELECT pg_advisory_xact_lock($1)', [lockId]);
  const done: number[] = [];
  const failed: number[] = [];
  const waiting = Array.from({ length: count }, (_, n) =>
    own.workspace(tenantId, lock).then(
      () => done.push(n),
      () => failed.push(n),
    ),
  );
  return {
    tenantId,
    done,
    failed,
    async end() {
      await holder.end();
      await Promise.all(waiting);
    },
  };
}
const openOwn = () =>
  new Database({
    url: database.url,
    maxConnections: 6,
    applicationName: 'shares',
    onError: () => undefined,
    // A test can hold a lock for longer than the default timeout.
    lockTimeoutMs: 60_000,
  });
const one = (tx: Transaction) => tx.query('one', 'SELECT 1', []);

test('what waits in one workspace leaves connections to others, and those that waited take turns with them', async () => {
  await using own = openOwn();
  const stuck = await stuckWorkspace(own, 40);
  await expect.poll(() => own.load.waiting).toBe(37);
  const other = crypto.randomUUID();
  for (let n = 0; n < 5; n += 1) expect((await own.workspace(other, one)).rowCount).toBe(1);
  expect((await own.system(one)).rowCount).toBe(1);
  expect(stuck.done).toEqual([]);
  // As many as are left, held for as long as the others wait.
  const released = Promise.withResolvers<void>();
  const holding = own.workspace(other, () => released.promise);
  const late = own.workspace(crypto.randomUUID(), async (tx) => {
    const before = stuck.done.length;
    await one(tx);
    return before;
  });
  await expect.poll(() => own.load.waiting).toBe(38);
  await stuck.end();
  expect(await late).toBeLessThan(stuck.done.length);
  released.resolve();
  await holding;
  expect([stuck.done.length, own.load.waiting]).toEqual([40, 0]);
});

test('while transactions of two workspaces wait for a lock, another workspace and the hub itself get a connection', async () => {
  await using own = openOwn();
  const first = await stuckWorkspace(own, 3);
  const second = await stuckWorkspace(own, 3, 4713);
  for (let n = 0; n < 5; n += 1) expect((await own.workspace(crypto.randomUUID(), one)).rowCount).toBe(1);
  expect((await own.system(one)).rowCount).toBe(1);
  expect([...first.done, ...first.failed]).toEqual([]);
  await Promise.all([first.end(), second.end()]);
});

test('transactions of no workspace that wait for a lock leave a connection to a workspace', async () => {
  await using own = openOwn();
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(4712)');
  let done = 0;
  const waiting = Array.from({ length: 40 }, () =>
    own.system((tx) => tx.query('lock', 'SELECT pg_advisory_xact_lock(4712)', [])).then(() => (done += 1)),
  );
  expect((await own.workspace(crypto.randomUUID(), one)).rowCount).toBe(1);
  expect(done).toBe(0);
  await holder.end();
  await Promise.all(waiting);
});

test('transactions within transactions of the same workspace go through, however many there are', async () => {
  await using own = openOwn();
  const tenantId = crypto.randomUUID();
  const started = Promise.withResolvers<void>();
  let under = 0;
  const outer = () =>
    own.workspace(tenantId, async () => {
      under += 1;
      if (under === 3) started.resolve();
      await started.promise;
      return (await own.workspace(tenantId, one)).rowCount;
    });
  expect(await Promise.all([outer(), outer(), outer()])).toEqual([1, 1, 1]);
});

test('a workspace in which too much waits is refused more, and so is what waits for too long', async () => {
  const shares = new ConnectionShares({ connections: 4, maxWaiting: 2, patienceMs: 20 });
  const turns = await Promise.all(Array.from({ length: 3 }, () => shares.begin('a')));
  const waiting = [shares.begin('a'), shares.begin('a')];
  await expect(shares.begin('a')).rejects.toMatchObject({ code: 'unavailable' });
  turns[0]?.end();
  const next = await waiting[0];
  await expect(waiting[1]).rejects.toMatchObject({ code: 'unavailable' });
  for (const turn of [...turns.slice(1), next]) turn?.end();
  expect(shares.waiting).toBe(0);
  expect(await Promise.all(Array.from({ length: 3 }, () => shares.begin('a')))).toHaveLength(3);
});

test('effects run once after the commit, in their order, and not at all after a rollback or of a try that is repeated', async () => {
  const calls: string[] = [];
  const seen = await db.system(async (tx) => {
    tx.onCommit(() => calls.push('first'));
    await insertSetting(tx, 'effects-1');
    tx.onCommit(() => calls.push('second'));
    return [...calls];
  });
  expect(seen).toEqual([]);
  expect(calls.splice(0)).toEqual(['first', 'second']);
  const refused = new Error('refused');
  const rolledBack = db.system(async (tx) => {
    tx.onCommit(() => calls.push('rolled back'));
    await insertSetting(tx, 'effects-2');
    throw refused;
  });
  expect(await settle(rolledBack)).toBe(refused);
  let tries = 0;
  await db.system(async (tx) => {
    tries += 1;
    tx.onCommit(() => calls.push(`try ${tries}`));
    if (tries === 1) await tx.query('', `DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$`, []);
  });
  expect(calls).toEqual(['try 2']);
});

test('effects of parts of a joined transaction wait for the commit of the whole, and those of a part that failed are dropped', async () => {
  const calls: string[] = [];
  await db.joined(async (tx) => {
    tx.onCommit(() => calls.push('whole'));
    await db.system(async (part) => part.onCommit(() => calls.push('part')));
    const failed = db.system(async (part) => {
      part.onCommit(() => calls.push('failed part'));
      await db.system(async (nested) => nested.onCommit(() => calls.push('nested in the failed part')));
      throw new Error('refused');
    });
    expect(await settle(failed)).toBeInstanceOf(Error);
    await db.system(async (part) => part.onCommit(() => calls.push('last part')));
    expect(calls).toEqual([]);
  });
  expect(calls.splice(0)).toEqual(['whole', 'part', 'last part']);
  const rolledBack = db.joined(async () => {
    await db.system(async (part) => part.onCommit(() => calls.push('part')));
    throw new Error('refused');
  });
  expect(await settle(rolledBack)).toBeInstanceOf(Error);
  expect(calls).toEqual([]);
});

test('of parts that run side by side, only the effects of the failed one are dropped, also when it registers one late', async () => {
  const calls: string[] = [];
  const started = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  let late: Promise<void> | undefined;
  await db.joined(async (tx) => {
    const failing = settle(
      db.system(async (part) => {
        started.resolve();
        await insertSetting(part, 'effects-failed');
        late = failed.promise.then(() => part.onCommit(() => calls.push('late effect of the failed part')));
        throw new Error('refused');
      }),
    );
    await started.promise;
    tx.onCommit(() => calls.push('whole, beside the failed part'));
    await failing;
    failed.resolve();
    await late;
    await db.system((part) => insertSetting(part, 'effects-kept'));
  });
  expect(calls).toEqual(['whole, beside the failed part']);
  expect(await settingsLike('effects-kept')).toHaveLength(1);
  expect(await settingsLike('effects-failed')).toHaveLength(0);
});

test('the listener receives workspaces with due runs once after the commit and its effects, and not after a rollback', async () => {
  await using own = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  // Without a listener, workers find the runs themselves.
  await own.system(async (tx) => tx.wakeWorkers('without a listener'));
  const calls: string[] = [];
  own.onDue((tenantIds) => calls.push([...tenantIds].join(', ')));
  await own.system(async (tx) => {
    tx.wakeWorkers('first');
    tx.onCommit(() => calls.push('effect'));
    await tx.query('', 'SELECT 1', []);
    tx.wakeWorkers('second');
    tx.wakeWorkers('first');
    expect(calls).toEqual([]);
  });
  expect(calls.splice(0)).toEqual(['effect', 'first, second']);
  const rolledBack = own.system(async (tx) => {
    tx.wakeWorkers('rolled back');
    throw new Error('refused');
  });
  expect(await settle(rolledBack)).toBeInstanceOf(Error);
  let tries = 0;
  await own.system(async (tx) => {
    tries += 1;
    tx.wakeWorkers(`try ${tries}`);
    if (tries === 1) await tx.query('', `DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$`, []);
  });
  expect(calls.splice(0)).toEqual(['try 2']);
  await own.joined(async (tx) => {
    tx.wakeWorkers('whole');
    await own.system(async (part) => part.wakeWorkers('part'));
    const failed = own.system(async (part) => {
      part.wakeWorkers('failed part');
      await own.system(async (nested) => nested.wakeWorkers('nested in the failed part'));
      throw new Error('refused');
    });
    expect(await settle(failed)).toBeInstanceOf(Error);
    expect(calls).toEqual([]);
  });
  expect(calls.splice(0)).toEqual(['whole, part']);
  // A caller can wait with the wake-ups of several transactions until the last has committed.
  const kept = new Set<string>();
  for (const id of ['one', 'two'])
    await own.system(async (tx) => tx.wakeWorkers(id), {
      collectDue: (tenantIds) => tenantIds.forEach((tenantId) => kept.add(tenantId)),
    });
  expect(calls).toEqual([]);
  own.wakeWorkers(kept);
  expect(calls).toEqual(['one, two']);
});

test('events that a transaction publishes are delivered once, after its commit is visible and in their order among the effects, and never those that were rolled back', async () => {
  await using own = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  // Without a listener, events are dropped.
  await own.system(async (tx) => tx.publish('without a listener', {}));
  const calls: unknown[] = [];
  own.onPublished((topic, payload) => calls.push([topic, payload]));
  const visible: Promise<unknown[]>[] = [];
  await own.system(async (tx) => {
    tx.publish('first', { n: 1 });
    tx.onCommit(() => {
      calls.push('effect');
      visible.push(settingsLike('published'));
    });
    await insertSetting(tx, 'published');
    tx.publish('second', {});
    expect(calls).toEqual([]);
  });
  expect(calls.splice(0)).toEqual([['first', { n: 1 }], 'effect', ['second', {}]]);
  expect((await Promise.all(visible)).flat()).toHaveLength(1);
  const rolledBack = own.system(async (tx) => {
    tx.publish('rolled back', {});
    throw new Error('refused');
  });
  expect(await settle(rolledBack)).toBeInstanceOf(Error);
  let tries = 0;
  await own.system(async (tx) => {
    tries += 1;
    tx.publish(`try ${tries}`, {});
    if (tries === 1) await tx.query('', `DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$`, []);
  });
  expect(calls.splice(0)).toEqual([['try 2', {}]]);
  await own.joined(async (tx) => {
    tx.publish('whole', {});
    await own.system(async (part) => part.publish('part', {}));
    const failed = own.system(async (part) => {
      part.publish('failed part', {});
      await own.system(async (nested) => nested.publish('nested in the failed part', {}));
      throw new Error('refused');
    });
    expect(await settle(failed)).toBeInstanceOf(Error);
    expect(calls).toEqual([]);
  });
  expect(calls.splice(0)).toEqual([
    ['whole', {}],
    ['part', {}],
  ]);
});

test('an event of a transaction whose COMMIT is sent behind its statements is published after the commit, and not if a statement fails', async () => {
  await using own = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  const published: string[] = [];
  const atPublish: Promise<unknown[]>[] = [];
  own.onPublished((topic) => {
    published.push(topic);
    atPublish.push(settingsLike(topic));
  });
  const write = (key: string, statement: string) =>
    own.system(async (tx) => {
      tx.publish(key, {});
      const statements = [insertSetting(tx, key), tx.query('', statement, [])];
      pipelineCommit(tx);
      const sent = published.length;
      await Promise.all(statements);
      return sent;
    });
  expect(await write('behind', 'SELECT 1')).toBe(0);
  expect(await settle(write('behind-failed', 'SELECT 1 / 0'))).toBeInstanceOf(Error);
  expect(published).toEqual(['behind']);
  expect((await Promise.all(atPublish)).flat()).toHaveLength(1);
});

test('each topic whose rows a transaction changed is passed on once after its commit, and never those that were rolled back', async () => {
  await using own = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  const topics: string[] = [];
  own.onChanged((topic) => topics.push(topic));
  await own.joined(async (tx) => {
    for (const topic of ['a', 'b', 'a']) tx.changed(topic);
    await own.system(async (part) => {
      part.changed('a');
      part.changed('c');
    });
    const failed = own.system(async (part) => {
      part.changed('failed part');
      throw new Error('refused');
    });
    expect(await settle(failed)).toBeInstanceOf(Error);
    expect(topics).toEqual([]);
  });
  expect(topics.splice(0)).toEqual(['a', 'b', 'c']);
  let tries = 0;
  await own.system(async (tx) => {
    tries += 1;
    tx.changed(`try ${tries}`);
    if (tries === 1) await tx.query('', `DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40P01'; END $$`, []);
  });
  own.changed('statement');
  expect(topics).toEqual(['try 2', 'statement']);
});

test('an effect can begin a transaction on the only connection', async () => {
  await using small = new Database({
    url: database.url,
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  let load: { total: number; idle: number; waiting: number } | undefined;
  let next: Promise<unknown> = Promise.resolve();
  await small.system(async (tx) => {
    tx.onCommit(() => {
      ({ load } = small);
      next = small.system(async () => 'next');
    });
  });
  expect(await next).toBe('next');
  expect(load).toMatchObject({ total: 1, idle: 1 });
});

test('an effect that throws is reported, and neither fails its transaction nor keeps the next effect from running', async () => {
  const errors: unknown[] = [];
  await using reporting = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
    onEffectError: (error) => errors.push(error),
  });
  const thrown = new Error('thrown by an effect');
  const calls: string[] = [];
  const notPublished = new Error('thrown by a listener');
  reporting.onPublished(() => {
    throw notPublished;
  });
  const result = await reporting.system(async (tx) => {
    tx.onCommit(() => {
      throw thrown;
    });
    tx.publish('topic', {});
    tx.onCommit(() => calls.push('next'));
    await insertSetting(tx, 'effects-3');
    return 'done';
  });
  expect([result, calls, errors]).toEqual(['done', ['next'], [thrown, notPublished]]);
  expect(await settingsLike('effects-3')).toHaveLength(1);
});
