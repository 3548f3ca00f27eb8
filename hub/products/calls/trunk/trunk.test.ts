import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { OwnTrunk } from '../../../../shared/contract/calls/own-trunk.ts';
import { makeCertificate } from '../../../../test/fixtures/certificates.ts';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../../test/fixtures/secrets.ts';
import { startRegistrar } from '../../../../test/fixtures/sip-registrar.ts';
import type { RegistrarOptions, SipRegistrar } from '../../../../test/fixtures/sip-registrar.ts';
import { Database } from '../../../platform/db/database.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { PostgresEvents } from '../../../platform/events/postgres-events.ts';
import { newId } from '../../../platform/ids.ts';
import { createSecrets } from '../../../platform/secrets/secrets.ts';
import { SipModes } from '../sip-mode/index.ts';
import { answered, unreachable } from './attempt.ts';
import { backOffMs, renewalMs } from './back-off.ts';
import { CallBudget, maxCallsPerDay } from './call-budget.ts';
import type { MissedCall } from './incoming.ts';
import { OwnTrunks } from './service.ts';
import { claimTrunks, recordResult, renewLeases, reserveSequence } from './store.ts';
import type { ClaimedTrunk } from './store.ts';
import { TrunkKeeper, trunksTopic, wakeTrunks } from './trunk-keeper.ts';
import type { TrunkKeeperDependencies, TrunkKeeperOptions } from './trunk-keeper.ts';

const logger = pino({ level: 'silent' });
const secrets = createSecrets(Buffer.alloc(32, 7));
const open = (url: string) =>
  new Database({ url, maxConnections: 6, applicationName: 'trunk', onError: () => undefined });

let database: TestDatabase;
let db: Database;
let events: PostgresEvents;
let certificates: Record<'right' | 'wrong' | 'strange', { key: string; cert: string }>;
let modes: SipModes;
let trunks: OwnTrunks;
let tenantId: string;
const missed: MissedCall[] = [];
const egress = createEgress({
  allowHosts: ['localhost', 'moved.example'],
  resolve: async (host) =>
    host === 'gone.example'
      ? Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
      : [{ address: '127.0.0.1', family: 4 }],
});

beforeAll(async () => {
  const [right, wrong, strange] = ['localhost', 'other.example', 'localhost'].map(makeCertificate);
  certificates = { right, wrong, strange } as typeof certificates;
  setDefaultCACertificates([...getCACertificates('default'), certificates.right.cert, certificates.wrong.cert]);
  database = await acquireDatabase();
  db = open(database.url);
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await egress[Symbol.asyncDispose]();
});
beforeEach(async () => {
  tenantId = newId();
  missed.length = 0;
  await database.query('DELETE FROM sip_trunks');
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{"business_calling": true}')`, [
    tenantId,
    tenantId,
  ]);
  modes = new SipModes();
  trunks = new OwnTrunks({ db, egress, secrets, modes, wake: wakeTrunks });
  modes.define('own', async (tx, tenant, actor) => void (await trunks.leave(tx, tenant, actor)));
});

const keep = (given: Partial<TrunkKeeperDependencies> = {}, options: TrunkKeeperOptions = {}) =>
  new TrunkKeeper(
    {
      db,
      egress,
      secrets,
      events,
      logger,
      clock: fastClock(100),
      userAgent: 'Outrigger',
      contact: null,
      recordMissed: async (call) => void missed.push(call),
      countMissed: async () => missed.length,
      onAttempt: () => undefined,
      ...given,
    },
    { leaseMs: 20_000, passMs: 50, ...options },
  );
const carrier = (transport: RegistrarOptions['transport'] = 'udp', more: Partial<RegistrarOptions> = {}) =>
  startRegistrar({ transport, ...(transport === 'tls' ? { tls: certificates.right } : {}), ...more });
const set = (registrar: Pick<SipRegistrar, 'port'>, more: object = {}) =>
  trunks.register(
    tenantId,
    {
      host: 'localhost',
      port: registrar.port,
      username: 'acme',
      password: 'secret "of" the trunk',
      transport: 'udp',
      ...more,
    },
    'user:test',
  );
const shows = async (expected: Partial<OwnTrunk>) => {
  await expect.poll(() => trunks.status(tenantId)).toMatchObject(expected);
};
const registered = { state: 'registered', registered: true, lastCode: 200, lastReason: 'OK' } as const;
const sequences = (registrar: SipRegistrar) =>
  registrar.requests
    .filter(({ method }) => method === 'REGISTER')
    .map(({ headers }) => Number.parseInt(headers['cseq'] ?? ''));

test('backOffMs doubles from 5 s up to 10 min, and renewalMs is before the end of the lifetime', () => {
  const all = [1, 2, 3, 7, 8, 50].map((failures) => [backOffMs(failures, () => 0), backOffMs(failures, () => 1)]);
  expect(all.map((range) => range.map(Math.round))).toEqual([
    [4_500, 5_500],
    [9_000, 11_000],
    [18_000, 22_000],
    [288_000, 352_000],
    [540_000, 600_000],
    [540_000, 600_000],
  ]);
  expect([3_600, 600, 60, 1].map(renewalMs)).toEqual([3_540_000, 540_000, 30_000, 5_000]);
});

test('the delay grows with consecutive failures, both without a response and after a refusal', () => {
  const counts = (failures: number) => ({ failures, refused_credentials: 0 });
  const refusal = {
    kind: 'refused',
    code: 503,
    reason: 'Busy',
    isCredentials: false,
    retryAfterSeconds: null,
  } as const;
  for (const [failures, leastMs, mostMs] of [
    [0, 4_500, 5_500],
    [2, 18_000, 22_000],
    [20, 540_000, 600_000],
  ] as const)
    for (const { nextMs } of [unreachable(counts(failures), 'timeout'), answered(counts(failures), refusal)]) {
      expect(nextMs).toBeGreaterThanOrEqual(leastMs);
      expect(nextMs).toBeLessThanOrEqual(mostMs);
    }
});

describe('a trunk', () => {
  test.each([
    ['udp', ['MD5', 'SHA-256'], 'SHA-256'],
    ['tcp', ['MD5'], 'MD5'],
    ['tls', ['SHA-256', 'SHA-512-256', 'MD5'], 'SHA-512-256'],
  ] as const)('by %s is registered with the strongest digest of %j', async (transport, algorithms, strongest) => {
    await using registrar = await carrier(transport);
    registrar.algorithms = [...algorithms];
    await using _keeper = keep();
    expect(await set(registrar, { transport })).toMatchObject({ state: 'registering', registered: false });
    await shows({ ...registered, transport, port: registrar.port });
    expect(registrar.requests[0]?.digest).toBeNull();
    const second = registrar.requests.find(({ digest }) => digest !== null);
    expect(second?.digest).toMatchObject({ username: 'acme', algorithm: strongest, qop: 'auth' });
    expect(second?.text).toContain(`Via: SIP/2.0/${transport.toUpperCase()} 127.0.0.1:`);
  });

  test('has one binding, one Call-ID and rising CSeq numbers across renewals and processes', async () => {
    await using registrar = await carrier();
    registrar.maxExpiresSeconds = 10;
    for (let turn = 1; turn <= 2; turn += 1) {
      await using _keeper = keep();
      if (turn === 1) await set(registrar);
      await expect.poll(() => new Set(sequences(registrar)).size).toBeGreaterThan(turn * 6);
      // If the keeper were disposed during a failed attempt, no other keeper would repeat the attempt.
      await shows(registered);
    }
    expect([...registrar.bindings.values()]).toHaveLength(1);
    expect(new Set(registrar.requests.map(({ headers }) => headers['call-id'])).size).toBe(1);
    const numbers = sequences(registrar);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    expect(new Set(numbers).size).toBeGreaterThan(11);
  });

  test('is registered although its first two datagrams are lost', async () => {
    await using registrar = await carrier();
    const lost: string[] = [];
    registrar.reply = ({ text }) => (lost.length < 2 ? (lost.push(text), null) : undefined);
    // The clock is slow enough for a busy machine to respond within the attempt.
    await using _keeper = keep({ clock: fastClock(10) });
    await set(registrar);
    await shows(registered);
    expect([lost[1], registrar.requests[2]?.text]).toEqual([lost[0], lost[0]]);
  });

  test('registers again when the carrier closes the connection', async () => {
    await using registrar = await carrier('tcp');
    await using _keeper = keep();
    await set(registrar, { transport: 'tcp' });
    await shows(registered);
    const before = registrar.requests.length;
    registrar.drop();
    await expect.poll(() => registrar.requests.length).toBeGreaterThan(before);
    await shows(registered);
    expect(registrar.bindings.size).toBe(1);
  });

  test('is not reported as registered while its connection is lost', async () => {
    await using registrar = await carrier('tcp');
    await using _keeper = keep({ clock: fastClock(1) });
    registrar.reply = ({ digest }) => {
      if (digest !== null) setImmediate(() => registrar.drop());
      return undefined;
    };
    await set(registrar, { transport: 'tcp' });
    await shows({ state: 'registering', registered: false, lastCode: 200 });
    const { nextAttemptAt, checkedAt } = (await trunks.status(tenantId)) as OwnTrunk;
    expect(Date.parse(nextAttemptAt ?? '') - Date.parse(checkedAt ?? '')).toBeLessThan(60_000);
  });

  test.each([['removed'], ['given its password again']])(
    'that is %s while it is first registered leaves nothing behind',
    async (change) => {
      await using registrar = await carrier();
      await using _keeper = keep({ clock: fastClock(1) });
      let lostResponses = 0;
      registrar.reply = ({ digest, headers }) => {
        if (digest === null || lostResponses > 0) return undefined;
        lostResponses += 1;
        const contact = /<([^>]+)>/.exec(headers['contact'] ?? '')?.[1] ?? '';
        const sequence = Number.parseInt(headers['cseq'] ?? '');
        registrar.bindings.set(contact, { contact, callId: headers['call-id'] ?? '', sequence, expiresSeconds: 600 });
        return null;
      };
      await set(registrar);
      await expect.poll(() => lostResponses).toBe(1);
      if (change === 'removed') {
        await trunks.remove(tenantId, 'user:test');
        await expect.poll(() => registrar.bindings.size).toBe(0);
      } else {
        await set(registrar);
        await shows(registered);
        expect(registrar.bindings.size).toBe(1);
      }
    },
  );

  test('that is removed is unregistered again after a 503 response', async () => {
    await using registrar = await carrier();
    await using _keeper = keep();
    await set(registrar);
    await shows(registered);
    let refused = 0;
    registrar.reply = () => (refused < 1 ? ((refused += 1), { status: 503, reason: 'Busy' }) : undefined);
    await trunks.remove(tenantId, 'user:test');
    await expect.poll(() => registrar.bindings.size).toBe(0);
  });

  test('moves to another process when the first loses its database, and the first then sends nothing', async () => {
    await using registrar = await carrier();
    registrar.maxExpiresSeconds = 10;
    const lost = open(database.url);
    const first = keep({ db: lost }, { leaseMs: 300 });
    await set(registrar);
    await shows(registered);
    await using _second = keep({ userAgent: 'the second' }, { leaseMs: 300 });
    expect(registrar.requests.every(({ headers }) => headers['user-agent'] === 'Outrigger')).toBe(true);
    await lost[Symbol.asyncDispose]();
    await expect.poll(() => registrar.requests.at(-1)?.headers['user-agent']).toBe('the second');
    await shows(registered);
    const after = registrar.requests.length;
    await expect.poll(() => registrar.requests.length).toBeGreaterThan(after + 2);
    expect(registrar.requests.slice(after).every(({ headers }) => headers['user-agent'] === 'the second')).toBe(true);
    expect(registrar.bindings.size).toBe(1);
    await first[Symbol.asyncDispose]();
  });

  test('of a crashed process is claimed again after at most 30 s', async () => {
    await set({ port: 9 });
    const intervals = vi.spyOn(globalThis, 'setInterval');
    onTestFinished(() => intervals.mockRestore());
    await using _keeper = keep({}, { leaseMs: undefined, passMs: undefined });
    const left = async () => {
      const [row] = await database.query<{ ms: number | null }>(
        'SELECT (extract(epoch FROM lease_expires_at - now()) * 1000)::float AS ms FROM sip_trunks',
      );
      return row?.ms ?? 0;
    };
    await expect.poll(left).toBeGreaterThan(0);
    const [passMs] = intervals.mock.calls.flatMap(([, ms]) => ms ?? []);
    expect((await left()) + (passMs as number)).toBeLessThanOrEqual(30_000);
  });

  test('gives CSeq numbers and accepts results only for its latest lease', async () => {
    await set({ port: 5_060 });
    const [first] = (await claimTrunks(db, 10, 20_000)) as [ClaimedTrunk];
    expect(await claimTrunks(db, 10, 20_000)).toEqual([]);
    expect(await reserveSequence(db, first, 8)).toBe(1);
    await set({ port: 5_060 });
    const [second] = (await claimTrunks(db, 10, 20_000)) as [ClaimedTrunk];
    const result = unreachable(second, 'refused');
    expect(await reserveSequence(db, first, 8)).toBeNull();
    expect(await recordResult(db, first, result)).toBe(false);
    expect(await renewLeases(db, [first], 20_000)).toEqual([]);
    expect(await reserveSequence(db, second, 8)).toBe(9);
    expect(await recordResult(db, second, result)).toBe(true);
    expect(await renewLeases(db, [second], 20_000)).toEqual([{ id: second.id }]);
    expect(await trunks.status(tenantId)).toMatchObject({ state: 'unreachable' });
  });

  test('that is removed is unregistered, and its row is deleted', async () => {
    await using registrar = await carrier();
    await using _keeper = keep();
    await set(registrar);
    await shows(registered);
    await trunks.remove(tenantId, 'user:test');
    expect(await trunks.status(tenantId)).toBeNull();
    await expect.poll(() => registrar.bindings.size).toBe(0);
    await expect.poll(() => database.query('SELECT FROM sip_trunks')).toEqual([]);
  });

  test('that is removed is deleted if its carrier is unreachable, and immediately if no request was ever sent', async () => {
    const registrar = await carrier();
    const keeper = keep();
    await set(registrar);
    await shows(registered);
    await registrar[Symbol.asyncDispose]();
    await trunks.remove(tenantId, 'user:test');
    await expect.poll(() => database.query('SELECT FROM sip_trunks')).toEqual([]);
    await keeper[Symbol.asyncDispose]();
    await set(registrar);
    await trunks.remove(tenantId, 'user:test');
    expect(await database.query('SELECT FROM sip_trunks')).toEqual([]);
  });

  test('that moves to another host is unregistered at the old host', async () => {
    await using before = await carrier();
    await using after = await carrier();
    await using _keeper = keep();
    await set(before);
    await shows(registered);
    await set(after, { host: 'moved.example' });
    await shows({ ...registered, host: 'moved.example' });
    await expect.poll(() => [before.bindings.size, after.bindings.size]).toEqual([0, 1]);
  });

  test("that moves with the Contact of the operator's server keeps its binding, although an unregister request is lost", async () => {
    await using before = await carrier();
    await using after = await carrier('tcp');
    (after as { bindings: unknown }).bindings = before.bindings;
    await using _keeper = keep({ clock: fastClock(10), contact: { host: 'pbx.example:5080', parameters: '' } });
    await set(before);
    await shows(registered);
    before.reply = ({ headers }) => (headers['expires'] === '0' && before.requests.length < 10 ? null : undefined);
    const unregistrations = () => before.requests.filter(({ headers }) => headers['expires'] === '0').length;
    await set(after, { transport: 'tcp' });
    await shows({ ...registered, transport: 'tcp' });
    expect(await database.query('SELECT FROM sip_trunks WHERE removed_at IS NOT NULL')).toEqual([]);
    expect([unregistrations(), before.bindings.size]).toEqual([0, 1]);
  });

  test('is unregistered when its workspace loses the entitlement, and registered when the entitlement returns', async () => {
    await using registrar = await carrier();
    await using _keeper = keep({}, { leaseMs: 300 });
    const entitle = (entitled: boolean) =>
      database.query(
        `UPDATE tenants SET entitlements = jsonb_build_object('business_calling', $2::boolean) WHERE id = $1`,
        [tenantId, entitled],
      );
    await set(registrar);
    await shows(registered);
    await entitle(false);
    await expect.poll(() => registrar.bindings.size).toBe(0);
    await shows({ state: 'registering', nextAttemptAt: null });
    const asked = registrar.requests.length;
    events.publish(trunksTopic, {});
    await database.query('SELECT pg_sleep(0.2)');
    expect(registrar.requests).toHaveLength(asked);
    await entitle(true);
    await shows(registered);
    expect(registrar.bindings.size).toBe(1);
  });

  test('stores its password sealed, and needs the password for another host or user name, or without tls', async () => {
    await using registrar = await carrier();
    await set(registrar);
    const [row] = await database.query<{ sealed_password: string }>('SELECT sealed_password FROM sip_trunks');
    expect(row?.sealed_password).not.toContain('secret');
    expect(await set(registrar, { password: undefined, transport: 'tcp' })).toMatchObject({ transport: 'tcp' });
    expect(await set(registrar, { password: undefined, transport: 'tls' })).toMatchObject({ transport: 'tls' });
    for (const more of [{ host: 'moved.example' }, { username: 'other' }, { transport: 'tcp' }])
      await expect(set(registrar, { password: undefined, ...more })).rejects.toThrow(/body\.password is needed/);
  });

  test('with a password sealed with another key stops, and can be removed', async () => {
    await using registrar = await carrier();
    const stopped = { state: 'stopped', lastReason: 'password_unreadable', nextAttemptAt: null } as const;
    await using _keeper = keep({ secrets: createSecrets(Buffer.alloc(32, 8)) });
    await set(registrar);
    await shows(stopped);
    await trunks.remove(tenantId, 'user:test');
    await expect.poll(() => database.query('SELECT FROM sip_trunks')).toEqual([]);
    expect(registrar.requests).toEqual([]);
  });

  test('and hosted SIP exclude each other under concurrent changes', async () => {
    let hosted = 0;
    modes.define('hosted', async () => void (hosted = 0));
    const optIn = () =>
      db.workspace(tenantId, async (tx) => {
        await modes.switchTo(tx, tenantId, 'hosted', 'user:test');
        hosted = 1;
      });
    await Promise.all(Array.from({ length: 50 }, (_, turn) => (turn % 2 === 0 ? set({ port: 5_060 }) : optIn())));
    const own = await database.query('SELECT FROM sip_trunks WHERE removed_at IS NULL');
    const [mode] = await database.query<{ mode: string }>('SELECT mode FROM sip_modes WHERE tenant_id = $1', [
      tenantId,
    ]);
    expect([own.length, hosted]).toEqual(mode?.mode === 'own' ? [1, 0] : [0, 1]);
  });
});

describe('a carrier that', () => {
  const away = { state: 'unreachable', registered: false, lastCode: null } as const;

  test('is unreachable gets attempts until it responds', async () => {
    const before = await carrier();
    const { port } = before;
    await before[Symbol.asyncDispose]();
    await using _keeper = keep();
    await set({ port });
    await shows({ ...away, lastReason: 'refused' });
    await using registrar = await carrier('udp', { port });
    await shows(registered);
    expect(registrar.bindings.size).toBe(1);
  });

  test('does not respond ends the attempt after retransmissions of the same datagram', async () => {
    await using registrar = await carrier();
    registrar.reply = () => null;
    await using _keeper = keep();
    await set(registrar);
    await shows({ ...away, lastReason: 'timeout' });
    // A busy machine sends less often before the attempt ends, so any attempt counts.
    const mostSent = () =>
      Math.max(...[...Map.groupBy(registrar.requests, ({ text }) => text).values()].map(({ length }) => length));
    await expect.poll(mostSent).toBeGreaterThan(6);
  });

  test('rejects the password three times gets no request until the password changes', async () => {
    await using registrar = await carrier('tcp');
    registrar.password = 'another';
    await using _keeper = keep();
    await set(registrar, { transport: 'tcp' });
    await shows({ state: 'stopped', lastCode: 401, lastReason: 'credentials_rejected', nextAttemptAt: null });
    const asked = registrar.requests.length;
    expect(asked).toBe(6);
    registrar.password = 'secret "of" the trunk';
    events.publish(trunksTopic, {});
    await database.query('SELECT pg_sleep(0.2)');
    expect(registrar.requests).toHaveLength(asked);
    const audit = await database.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE tenant_id = $1 ORDER BY id`,
      [tenantId],
    );
    expect(audit.map(({ action }) => action)).toEqual(['sip_trunk.created', 'sip_trunk.stopped']);
    await set(registrar, { transport: 'tcp' });
    await shows(registered);
  });

  test('reports every nonce as stale gets a bounded number of requests', async () => {
    await using registrar = await carrier();
    registrar.reply = () => ({
      status: 401,
      reason: 'Unauthorized',
      headers: [`WWW-Authenticate: Digest realm="r", nonce="${Math.random()}", stale=true`],
    });
    await using _keeper = keep({ clock: fastClock(1) });
    await set(registrar);
    await shows({ state: 'rejected', lastCode: 401, lastReason: 'nonce_always_stale' });
    // A request is sent again if its response is late, with the same number.
    expect(new Set(registrar.requests.map(({ headers }) => headers['cseq'])).size).toBe(4);
  });

  test('closes each connection or does not speak SIP has the reason refused', async () => {
    for (const greeting of [null, 'HTTP/1.1 400 Bad Request\r\n\r\n']) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        if (greeting === null) socket.destroy();
        else socket.write(greeting);
      });
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      await using _keeper = keep({ clock: fastClock(1) });
      await set({ port: (server.address() as AddressInfo).port }, { transport: 'tcp' });
      await shows({ ...away, lastReason: 'refused' });
      expect((await trunks.status(tenantId))?.nextAttemptAt).not.toBeNull();
      server.close();
    }
  });

  test('rejects a registration determines the reason and the next attempt', async () => {
    await using registrar = await carrier();
    registrar.reply = () => ({ status: 403, reason: 'Account is suspended', headers: ['Retry-After: 900'] });
    await using _keeper = keep({ clock: fastClock(1) });
    await set(registrar);
    await shows({ state: 'rejected', registered: false, lastCode: 403, lastReason: 'Account is suspended' });
    const { nextAttemptAt, checkedAt } = (await trunks.status(tenantId)) as OwnTrunk;
    expect(Date.parse(nextAttemptAt ?? '') - Date.parse(checkedAt ?? '')).toBeGreaterThanOrEqual(899_000);
  });

  test.each([
    ['strange', 'tls_untrusted'],
    ['wrong', 'tls_name'],
  ] as const)('has a %s certificate gets no request', async (which, lastReason) => {
    await using registrar = await carrier('tls', { tls: certificates[which] });
    await using _keeper = keep();
    await set(registrar, { transport: 'tls' });
    await shows({ ...away, lastReason });
    expect(registrar.requests).toEqual([]);
  });

  test.each([
    ['inside.example', 'address_refused'],
    ['gone.example', 'dns'],
  ])('resolves to %s gets no request', async (host, lastReason) => {
    await using registrar = await carrier();
    await using _keeper = keep();
    await set(registrar, { host });
    await shows({ ...away, lastReason });
    expect(registrar.requests).toEqual([]);
  });
});

describe('an incoming request to a trunk', () => {
  const incoming = (method: string, ...more: string[]) => [
    `${method} sip:me@here SIP/2.0`,
    `Via: SIP/2.0/UDP carrier;branch=z9hG4bK${method}`,
    'From: "Ada" <sip:+15005550006@carrier>;tag=1',
    'To: <sip:+15005550001@here>',
    'Call-ID: the-call',
    `CSeq: 1 ${method}`,
    ...more,
  ];

  test('is answered: OPTIONS with 200, and an INVITE with 480 and one missed call', async () => {
    await using registrar = await carrier();
    await using _keeper = keep();
    await set(registrar);
    await shows(registered);
    registrar.send(incoming('OPTIONS'));
    await expect.poll(() => registrar.responses.at(-1)).toMatch(/^SIP\/2\.0 200 OK/);
    registrar.send(incoming('INVITE'));
    registrar.send(incoming('INVITE'));
    await expect.poll(() => registrar.responses.at(-1)).toMatch(/^SIP\/2\.0 480 /);
    registrar.send(incoming('ACK').map((line) => line.replace('bKACK', 'bKINVITE')));
    registrar.send(incoming('BYE'));
    await expect.poll(() => registrar.responses.at(-1)).toMatch(/^SIP\/2\.0 481 /);
    expect(missed).toEqual([
      { tenantId, callSid: 'the-call', fromId: '+15005550006', toId: '+15005550001', at: expect.any(Date) },
    ]);
  });

  test('is refused without a record above the limit per second', async () => {
    await using registrar = await carrier('tcp');
    let now = 0;
    await using _keeper = keep({ clock: { ...fastClock(100), now: () => now } });
    await set(registrar, { transport: 'tcp' });
    await shows(registered);
    const bring = async (calls: number) => {
      const before = registrar.responses.length;
      for (let call = 0; call < calls; call += 1) {
        const branch = `bK${before}-${call}`;
        registrar.send(incoming('INVITE').map((line) => line.replace('bKINVITE', branch)));
        await expect.poll(() => registrar.responses.length, { interval: 1 }).toBe(before + call + 1);
        registrar.send(incoming('ACK').map((line) => line.replace('bKACK', branch)));
      }
    };
    await bring(15);
    expect(registrar.responses.every((response) => response.startsWith('SIP/2.0 480 '))).toBe(true);
    expect(missed).toHaveLength(10);
    await bring(1);
    expect(missed).toHaveLength(10);
    now += 1_000;
    await bring(1);
    expect(missed).toHaveLength(11);
  });

  test('counts against a limit per day over all processes, which is reported once a day', async () => {
    let now = 0;
    let reports = 0;
    let written = 0;
    const newBudget = () => new CallBudget({ ...fastClock(1), now: () => now }, async () => written);
    const receive = async (budget: CallBudget, calls: number) => {
      let recorded = 0;
      for (let call = 0; call < calls; call += 1, now += 100)
        recorded += Number(await budget.take(() => (reports += 1)));
      written += recorded;
      return recorded;
    };
    expect([await receive(newBudget(), maxCallsPerDay - 10), reports]).toEqual([maxCallsPerDay - 10, 0]);
    const next = newBudget();
    expect([await receive(next, 50), reports]).toEqual([10, 1]);
    expect([await receive(newBudget(), 1), reports]).toEqual([0, 2]);
    now += 86_400_000;
    written = 0;
    expect([await receive(next, maxCallsPerDay + 50), reports]).toEqual([maxCallsPerDay, 3]);
  });

  test("goes to the operator's SIP server if there is one, and is not recorded by the hub", async () => {
    await using registrar = await carrier();
    await using _keeper = keep({ contact: { host: 'pbx.example:5080', parameters: ';transport=tcp' } });
    await set(registrar);
    await shows(registered);
    expect([...registrar.bindings.keys()]).toEqual(['sip:acme@pbx.example:5080;transport=tcp']);
    registrar.send(incoming('INVITE'));
    await expect.poll(() => registrar.responses.at(-1)).toMatch(/^SIP\/2\.0 480 /);
    expect(missed).toEqual([]);
  });
});
