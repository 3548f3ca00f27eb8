import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { createCursors } from '../../../platform/cursor.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { createSecrets } from '../../../platform/secrets/secrets.ts';
import { CarrierConnections } from '../connections/index.ts';
import { sealPurpose } from '../connections/service.ts';
import { Calls } from '../records/index.ts';
import { importCsv, Reconciliation } from './index.ts';

const secrets = createSecrets(Buffer.alloc(32, 7));
let database: TestDatabase;
let db: Database;
let calls: Calls;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
  calls = new Calls({ db, cursors: createCursors(Buffer.alloc(32)) });
});
beforeEach(() => database.query('DELETE FROM call_connections'));
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function workspace(isEntitled = true): Promise<string> {
  const id = newId();
  await database.query('INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, $3)', [
    id,
    id,
    JSON.stringify(isEntitled ? { business_calling: true } : {}),
  ]);
  return id;
}

async function connect(tenantId: string, host: string, sealed = secrets.seal(sealPurpose, 'token')): Promise<string> {
  const id = newId();
  await database.query(
    `INSERT INTO call_connections (id, tenant_id, provider, name, sealed_secret, account_sid, api_base_url)
     VALUES ($1, $2, 'twilio', 'T', $3, 'AC1', $4)`,
    [id, tenantId, sealed, `https://${host}`],
  );
  return id;
}

const call = (sid: string, startTime = new Date(Date.now() - 60_000).toUTCString()) => ({
  sid,
  status: 'completed',
  direction: 'inbound',
  start_time: startTime,
  end_time: new Date().toUTCString(),
  duration: '5',
});

/** Runs a nightly comparison with stubbed carriers. Returns its outcome and the number of requests per host. */
async function compareWith(answer: (host: string) => { calls: object[]; next_page_uri?: string }) {
  const requests: Record<string, number> = {};
  const egress = {
    fetch: async (url: string) => {
      const { host } = new URL(url);
      requests[host] = (requests[host] ?? 0) + 1;
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer(host))) };
    },
  };
  const outcome = await new Reconciliation({
    calls,
    connections: new CarrierConnections({ db, secrets }),
    egress: egress as never,
    logger: pino({ level: 'silent' }),
    now: () => new Date(),
    pause: async () => undefined,
  }).compareNightly(new AbortController().signal);
  return { outcome, requests };
}

const sids = async (tenantId: string) =>
  (await database.query<{ call_sid: string }>('SELECT call_sid FROM calls WHERE tenant_id = $1', [tenantId])).map(
    (row) => row.call_sid,
  );

test('a nightly comparison continues with other connections after impossible times, a failed merge or an unreadable secret', async () => {
  const [impossible, broken, sealed, good] = [
    await workspace(),
    await workspace(),
    await workspace(),
    await workspace(),
  ];
  await connect(impossible, 'odd.example');
  const failing = [await connect(broken, 'broken.example'), await connect(sealed, 'sealed.example', 'broken')];
  await connect(good, 'good.example');
  const merge = calls.mergeAll.bind(calls);
  calls.mergeAll = async (tenantId, events) => {
    if (tenantId === broken) throw new Error('cannot be kept');
    return merge(tenantId, events);
  };
  const { outcome } = await compareWith((host) => ({
    calls: [call('CA1', host === 'odd.example' ? 'Sat, 01 Jan 1000 00:00:00 GMT' : undefined)],
  })).finally(() => (calls.mergeAll = merge));
  expect(outcome.failed.map(({ connectionId }) => connectionId).toSorted()).toEqual(failing.toSorted());
  expect([await sids(impossible), await sids(good)]).toEqual([['CA1'], ['CA1']]);
});

test('an unreadable secret of one connection does not affect other connections in the same look-up', async () => {
  const tenantId = await workspace();
  const [sealed, good] = [await connect(tenantId, 'one.example', 'broken'), await connect(tenantId, 'two.example')];
  const statements: string[] = [];
  const counted = new Proxy(db, {
    get: (target, name) =>
      name === 'systemStatement'
        ? (...given: Parameters<Database['systemStatement']>) => {
            statements.push(given[0]);
            return target.systemStatement(...given);
          }
        : Reflect.get(target, name),
  });
  const connections = new CarrierConnections({ db: counted, secrets });
  expect(await Promise.all([sealed, good].map((id) => connections.find(id)))).toEqual([
    { tenantId, provider: 'twilio', secrets: [], hasUnreadable: true },
    { tenantId, provider: 'twilio', secrets: ['token'], hasUnreadable: false },
  ]);
  expect(statements).toEqual(['find_call_connections']);
});

test('a nightly comparison stops reading a list whose pages form a loop or are empty', async () => {
  const tenantId = await workspace();
  await connect(tenantId, 'circle.example');
  await connect(tenantId, 'empty.example');
  const { requests, outcome } = await compareWith((host) => ({
    calls: host === 'circle.example' ? [call('CA1')] : [],
    next_page_uri: '/same',
  }));
  expect(outcome.failed.map(({ message }) => message)).toEqual([expect.stringContaining('leads back')]);
  expect(requests['circle.example']).toBe(2);
  expect(requests['empty.example']).toBeLessThan(20);
});

test('a list that exceeds the time of one pass is read completely over several passes, each page once', async () => {
  const tenantId = await workspace();
  const id = await connect(tenantId, 'slow.example');
  const pagesOfDay = 5;
  let pass = new AbortController();
  let left = 0;
  const requests: string[] = [];
  const reconciliation = new Reconciliation({
    calls,
    connections: new CarrierConnections({ db, secrets }),
    egress: {
      fetch: async (address: string) => {
        if (left === 0) pass.abort(new DOMException('late', 'TimeoutError'));
        pass.signal.throwIfAborted();
        left -= 1;
        requests.push(address);
        const url = new URL(address);
        const page = Number(url.searchParams.get('Page') ?? 0);
        url.searchParams.set('Page', String(page + 1));
        const next_page_uri = page + 1 < pagesOfDay ? `${url.pathname}${url.search}` : '';
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ calls: [call('CA1')], next_page_uri })) };
      },
    } as never,
    logger: pino({ level: 'silent' }),
    now: () => new Date(),
    pause: async () => undefined,
  });
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => pass.signal);
  try {
    let due = 1;
    for (let passes = 0; due > 0 && passes < 30; passes += 1) {
      pass = new AbortController();
      left = 3;
      due = (await reconciliation.compareNightly(new AbortController().signal)).connections;
    }
    expect(due).toBe(0);
  } finally {
    timeout.mockRestore();
  }
  expect(requests).toHaveLength(new Set(requests).size);
  // The seven days of the first comparison, the overlapping day before them, and the duration of this test.
  expect(requests.length).toBeGreaterThanOrEqual(8 * pagesOfDay);
  expect(await database.query('SELECT FROM call_connections WHERE id = $1 AND reconciled_at IS NULL', [id])).toEqual(
    [],
  );
});

test('the nightly comparison includes the days between the last nightly comparison and a manual one', async () => {
  const tenantId = await workspace();
  const [never, before] = [await connect(tenantId, 'never.example'), await connect(tenantId, 'before.example')];
  const day = 86_400_000;
  const last = new Date(Date.now() - 4 * day);
  await database.query('UPDATE call_connections SET reconciled_at = $2 WHERE id = $1', [before, last]);
  const requests: Record<string, Date[]> = { never: [], before: [] };
  const reconciliation = new Reconciliation({
    calls,
    connections: new CarrierConnections({ db, secrets }),
    egress: {
      fetch: async (address: string) => {
        const { host, searchParams } = new URL(address);
        requests[host.split('.', 1)[0] as string]?.push(new Date(searchParams.get('StartTime>') as string));
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ calls: [] })) };
      },
    } as never,
    logger: pino({ level: 'silent' }),
    now: () => new Date(),
    pause: async () => undefined,
  });
  const neverAborted = new AbortController().signal;
  await reconciliation.compareSince(tenantId, new Date(Date.now() - 3_600_000), neverAborted);
  const reconciledAt = async (id: string) =>
    (await database.query<{ at: Date }>('SELECT reconciled_at AS at FROM call_connections WHERE id = $1', [id]))[0]?.at;
  expect([await reconciledAt(never), await reconciledAt(before)]).toEqual([null, last]);
  await reconciliation.compareNightly(neverAborted);
  const oldest = (name: string) => Math.min(...(requests[name] ?? []).map((at) => at.getTime()));
  expect(oldest('never')).toBeLessThan(Date.now() - 7 * day);
  expect(oldest('before')).toBeLessThan(last.getTime());
  expect(await reconciledAt(before)).not.toEqual(last);
});

test('the nightly comparison skips workspaces without the calling entitlement', async () => {
  await connect(await workspace(false), 'other.example');
  expect((await compareWith(() => ({ calls: [] }))).requests).toEqual({});
});

test('the import rejects a line with an impossible time by field name and accepts the other lines of its batch', async () => {
  const tenantId = await workspace();
  async function* pieces() {
    yield 'provider,callSid,direction,result,startedAt,endedAt\n';
    yield 'twilio,good,inbound,missed,2026-11-01T00:00:00Z,2026-11-01T00:01:00Z\n';
    yield 'twilio,long,inbound,answered,1970-01-01T00:00:00Z,2099-01-01T00:00:00Z\n';
  }
  expect(await importCsv(calls, tenantId, pieces(), null)).toMatchObject({
    read: 1,
    refused: 1,
    problems: [{ line: 3, message: expect.stringMatching(/^startedAt .*2000/) as string }],
  });
  expect(await sids(tenantId)).toEqual(['good']);
});

test('counting calls of a provider starts at the given time and stops at the limit', async () => {
  const tenantId = await workspace();
  async function* pieces() {
    yield 'provider,callSid,direction,result,startedAt,endedAt\n';
    for (const day of ['01', '02', '03'])
      yield `twilio,${day},inbound,missed,2026-11-${day}T00:00:00Z,2026-11-${day}T00:01:00Z\n`;
  }
  await importCsv(calls, tenantId, pieces(), null);
  const since = new Date('2026-11-02T00:00:00Z');
  const count = (provider: 'twilio' | 'sip_trunk', limit: number) => calls.countSince(tenantId, provider, since, limit);
  expect([await count('twilio', 9), await count('twilio', 1), await count('sip_trunk', 9)]).toEqual([2, 1, 0]);
});
