import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adminKey, patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { expectRefused } from '../fixtures/visitor.ts';

const domain = 'sip.example.com';
const trunk = { host: '127.0.0.1', port: 9, username: 'acme', password: 'secret', transport: 'tcp' } as const;

let hub: TestHub;
let workspace: TestWorkspace;
let observer: Client;
beforeAll(async () => {
  hub = await startHub(
    {
      EGRESS_ALLOW_HOSTS: '127.0.0.1',
      SIP_DOMAIN: domain,
      SIP_WS_URL: 'ws://127.0.0.1:9',
      SIP_RPC_URL: 'http://127.0.0.1:9',
      SIP_SHARED_SECRET: 'x'.repeat(32),
    },
    undefined,
    patientDatabase,
  );
  workspace = await hub.workspace();
  observer = new Client({ connectionString: hub.database.url });
  await observer.connect();
});
afterAll(async () => {
  await observer.end();
  await hub[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await optOut();
  if ((await ownTrunk()) !== null) await workspace.session.call('removeOwnTrunk', {});
});

const optIn = (session = workspace.session) => session.call('optIntoHostedSip', {});
const optOut = (session = workspace.session) => session.call('optOutOfHostedSip', {});
const status = (session = workspace.session) => session.call('getHostedSip', {});
const ownTrunk = () => workspace.session.call('getSipStatus', {});
const register = () => workspace.session.call('registerOwnTrunk', { body: trunk });

/** The rows that the SIP server can read, by database role. */
async function subscribers(role = 'outrigger_sip', relation = 'sip_subscriber') {
  await observer.query('BEGIN');
  try {
    await observer.query(`SET LOCAL ROLE ${role}`);
    return (await observer.query<{ username: string; domain: string; ha1: string }>(`SELECT * FROM ${relation}`)).rows;
  } finally {
    await observer.query('ROLLBACK');
  }
}

/** Sends a report of the SIP server about a call. */
async function report(caller: string, callId: string) {
  const hex = (text: string) => Buffer.from(text).toString('hex');
  const values = ['queued', ...[callId, caller, '+4930', '', '', '4.2'].map(hex)];
  await observer.query('BEGIN');
  try {
    await observer.query('SET LOCAL ROLE outrigger_sip');
    await observer.query('SELECT 1 FROM report_sip_call($1, $2, $3, $4, $5, $6, $7)', values);
  } finally {
    await observer.query('COMMIT');
  }
}

describe('hosted SIP', () => {
  test('is enabled with credentials that are shown once and are valid at the SIP server until it is disabled', async () => {
    expect(await status()).toEqual({
      enabled: false,
      ready: true,
      entitled: true,
      domain,
      username: null,
      wsUrl: `${hub.url.replace('http', 'ws')}/sip/ws`,
    });
    const { credentials, ...opted } = await optIn();
    expect(credentials).toEqual({
      username: expect.stringMatching(/^w[0-9a-f]{16}$/),
      password: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
    });
    const { username, password } = credentials as NonNullable<typeof credentials>;
    expect(opted).toMatchObject({
      enabled: true,
      ready: true,
      username: expect.stringMatching(`^${username}-[0-9a-f]{32}$`),
    });
    const ha1 = createHash('md5').update(`${username}:${domain}:${password}`).digest('hex');
    expect(await subscribers()).toEqual([{ username, domain, ha1 }]);
    expect(await status()).toEqual(opted);
    expect(await optIn()).toEqual(opted);
    expect(await optOut()).toMatchObject({ enabled: false, username: null });
    expect(await subscribers()).toEqual([]);
    const again = await optIn();
    expect(again.credentials?.username).toBe(username);
    expect(again.credentials?.password).not.toBe(password);
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetType: 'hosted_sip' },
    } as never);
    expect(data.map(({ action }) => action)).toEqual(
      ['enabled', 'disabled', 'enabled'].map((what) => `hosted_sip.${what}`),
    );
    expect(JSON.stringify(data)).not.toContain(password);
  });

  test('lets only the SIP server read the accounts of entitled workspaces, and nothing else', async () => {
    await optIn();
    for (const relation of ['hosted_sip', 'users', 'tenants', 'sip_trunks', 'sip_reports'])
      await expect(subscribers('outrigger_sip', relation)).rejects.toThrow('permission denied');
    for (const role of ['outrigger_app', 'outrigger_system'])
      await expect(subscribers(role)).rejects.toThrow('permission denied');
    const params = { tenantId: workspace.tenantId };
    await hub.client(adminKey).call('putEntitlements', { params, body: { business_calling: false } });
    expect(await subscribers()).toEqual([]);
    expect(await status()).toMatchObject({ enabled: true, entitled: false });
    await expectRefused(optIn(), 403, 'product_not_entitled');
    expect(await optOut()).toMatchObject({ enabled: false });
    await hub.client(adminKey).call('putEntitlements', { params, body: { business_calling: true } });
  });

  test('grants the SIP server one view and one function, and grants no function to every role', async () => {
    const notOfPostgres = `nspname !~ '^(pg_|information_schema$)'`;
    const { rows: relations } = await observer.query<{ name: string }>(
      `SELECT format('%s.%s', nspname, relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE ${notOfPostgres} AND has_schema_privilege('outrigger_sip', n.oid, 'USAGE') AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         AND (has_any_column_privilege('outrigger_sip', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES') OR has_table_privilege('outrigger_sip', c.oid, 'DELETE, TRUNCATE, TRIGGER, MAINTAIN'))`,
    );
    expect(relations).toEqual([{ name: 'public.sip_subscriber' }]);
    const { rows: functions } = await observer.query<{ name: string; is_open: boolean; is_sip: boolean }>(
      `SELECT proname AS name, has_function_privilege('public', p.oid, 'EXECUTE') AS is_open, has_function_privilege('outrigger_sip', p.oid, 'EXECUTE') AS is_sip
       FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE ${notOfPostgres} AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')`,
    );
    expect(functions.length).toBeGreaterThan(10);
    expect(functions.filter((each) => each.is_open)).toEqual([]);
    expect(functions.filter((each) => each.is_sip).map(({ name }) => name)).toEqual(['report_sip_call']);
    await observer.query('BEGIN; SET LOCAL ROLE outrigger_sip; CREATE TEMP TABLE mine (id uuid)');
    const fire =
      'CREATE TRIGGER t AFTER DELETE ON mine REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION record_removed_workspaces()';
    await expect(observer.query(fire)).rejects.toThrow('permission denied for function');
    await observer.query('ROLLBACK');
  });

  test('and an own trunk exclude each other, regardless of the order', async () => {
    await register();
    await optIn();
    expect(await ownTrunk()).toBeNull();
    await register();
    expect(await status()).toMatchObject({ enabled: false });
    expect(await subscribers()).toEqual([]);
  });

  test('or an own trunk is enabled, but not both, after 50 concurrent requests for each', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? optIn() : register())));
    const [{ enabled }, own] = await Promise.all([status(), ownTrunk()]);
    expect(enabled).toBe(own === null);
    expect(await subscribers()).toHaveLength(enabled ? 1 : 0);
  });

  test('requires a signed-in user of its workspace, and an admin for changes', async () => {
    await optIn();
    const other = await hub.workspace();
    expect(await status(other.session)).toMatchObject({ enabled: false });
    await optOut(other.session);
    expect(await status()).toMatchObject({ enabled: true });
    const paths = [
      ['GET', '/sip/our-sip'],
      ['POST', '/sip/our-sip/opt-in'],
      ['POST', '/sip/our-sip/opt-out'],
    ] as const;
    for (const [method, path] of paths) expect((await send(hub.url, method, path)).status).toBe(401);
    const email = `agent-${process.hrtime.bigint()}@example.org`;
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: 'correct horse battery', role: 'agent' },
    });
    const { token } = await hub.client().call('logIn', { body: { email, password: 'correct horse battery' } });
    const agent = hub.client(token);
    const [own, theirs] = [await status(), await status(agent)];
    expect(theirs.enabled).toBe(true);
    expect(theirs.username).not.toBe(own.username);
    await expectRefused(optIn(agent), 403, 'role_required');
    await expectRefused(optOut(agent), 403, 'role_required');
  });

  test('reports a missing SIP server of the operator, and creates credentials when one is configured or replaced', async () => {
    await optOut();
    const session = (of: TestHub) => of.client(workspace.jwt);
    await using without = await startHub({}, hub.database);
    const reason = 'sip_server_not_configured';
    const unready = { ready: false, reason, entitled: true, domain: null, username: null, wsUrl: null };
    expect(await status(session(without))).toEqual({ enabled: false, ...unready });
    expect(await optIn(session(without))).toEqual({ enabled: true, ...unready });
    expect(await subscribers()).toEqual([]);
    expect(await status()).toMatchObject({ enabled: true, ready: false, reason: 'credentials_outdated' });
    const { credentials } = await optIn();
    expect(credentials?.password).toHaveLength(32);
    expect(await optIn(session(without))).toEqual({ enabled: true, ...unready });
    expect(await subscribers()).toHaveLength(1);
    expect(await status()).toMatchObject({ ready: true });
  });

  test('records calls from the events of the SIP server, only for workspaces that enabled it', async () => {
    await optOut();
    const { credentials } = await optIn();
    const username = credentials?.username as string;
    await report(`${username}-1`, `"it's"; DROP`);
    await report('w0000000000000000', 'foreign');
    const records = async () => (await workspace.session.call('listCalls', { query: {} })).items;
    await expect
      .poll(records)
      .toMatchObject([{ callSid: `"it's"; DROP`, fromId: `${username}-1`, toId: '+4930', mosScore: 4.2 }]);
    await expect.poll(async () => (await observer.query('SELECT FROM sip_reports')).rows).toEqual([]);
    await optOut();
  });
});
