import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contains } from '../../hub/platform/http/auth/client-address.ts';
import { newApiKey, parseApiKey } from '../../hub/platform/secrets/api-keys.ts';
import { defaultPermissions, products } from '../../shared/contract/define.ts';
import { minuteMs, avoidPeriodEnd } from '../fixtures/avoid-period-end.ts';
import { ApiError } from '../fixtures/contract-client.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { adminKey } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { expireToken } from '../fixtures/stage/core.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000', TRUSTED_PROXIES: '127.0.0.1' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function refused(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => new Error('it was not refused'),
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}
const list = (headers: Record<string, string>, url = hub.url) =>
  send(url, 'GET', '/v1/automations/workflows', { headers });

describe('API keys', () => {
  const shapes = {
    chat: ['key_live', 'key_test_live'],
    ai: ['key_live_ai', 'key_test_ai'],
    automations: ['key_live_automations', 'key_test_automations'],
    voice: ['key_live_voice', 'key_test_voice'],
  };

  test.each(products)('of %s have the specified format and a checksum', (product) => {
    for (const [index, environment] of (['live', 'test'] as const).entries()) {
      const { key } = newApiKey(product, environment);
      expect(key).toMatch(new RegExp(`^${shapes[product][index]}_[a-z0-9]{8}_[0-9A-Za-z]{49}$`));
      expect(parseApiKey(key)).toMatchObject({ product, environment });
      const broken = key.slice(0, -10) + (key.at(-10) === 'x' ? 'y' : 'x') + key.slice(-9);
      expect(parseApiKey(broken)).toBeNull();
    }
  });

  test('are accepted in both headers, but not in two headers with different keys', async () => {
    expect((await list({ authorization: `Bearer ${workspace.key}` })).status).toBe(200);
    expect((await list({ 'x-api-key': workspace.key })).status).toBe(200);
    expect((await list({ 'x-api-key': workspace.key, authorization: `Bearer ${workspace.key}` })).status).toBe(200);
    const second = await workspace.createKey();
    expect(await list({ 'x-api-key': workspace.key, authorization: `Bearer ${second.key}` })).toMatchObject({
      status: 401,
    });
  });

  test('are stored as a hash, shown once, and listed without their secret', async () => {
    const { id, key } = await workspace.createKey();
    const listed = await workspace.session.call('listApiTokens', { params: { tenantId: workspace.tenantId } });
    expect(JSON.stringify(listed)).not.toContain(key.split('_').at(-1));
    expect(listed.data.find((token) => token.id === id)).toMatchObject({ product: 'automations', lastUsedAt: null });
    await hub.client(key).call('listAutomationWorkflows', {});
    const after = await workspace.session.call('listApiTokens', { params: { tenantId: workspace.tenantId } });
    expect(after.data.find((token) => token.id === id)?.lastUsedAt).not.toBeNull();
    const rows = await hub.database.query<{ text: string }>('select row_to_json(k)::text as text from api_tokens k');
    expect(rows.some(({ text }) => text.includes(key.split('_').at(-1) as string))).toBe(false);
  });

  test('stop working immediately on every process when they are revoked or expire', async () => {
    await using second = await startHub({}, hub.database);
    const { id, key } = await workspace.createKey();
    expect((await list({ 'x-api-key': key }, second.url)).status).toBe(200);
    await workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } });
    for (const url of [hub.url, second.url])
      expect(await list({ 'x-api-key': key }, url)).toMatchObject({ status: 401, body: { code: 'token_revoked' } });
    const soon = await workspace.createKey({ expiresAt: new Date(Date.now() + 60_000).toISOString() });
    await expireToken(hub.database, soon.id);
    expect(await list({ 'x-api-key': soon.key })).toMatchObject({ status: 401, body: { code: 'token_expired' } });
  });

  test('are bound to their addresses, also behind a trusted proxy, and an untrusted proxy is ignored', async () => {
    const { key } = await workspace.createKey({ ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'] });
    expect(await list({ 'x-api-key': key })).toMatchObject({ status: 403, body: { code: 'ip_not_allowed' } });
    expect((await list({ 'x-api-key': key, 'x-forwarded-for': '203.0.113.9' })).status).toBe(200);
    expect((await list({ 'x-api-key': key, 'x-forwarded-for': '2001:db8::1' })).status).toBe(200);
    expect((await list({ 'x-api-key': key, 'x-forwarded-for': '203.0.113.9, 198.51.100.1' })).status).toBe(403);
    expect((await list({ 'x-api-key': key, 'x-forwarded-for': '::ffff:203.0.113.9' })).status).toBe(200);
    await using unproxied = await startHub({}, hub.database);
    expect((await list({ 'x-api-key': key, 'x-forwarded-for': '203.0.113.9' }, unproxied.url)).status).toBe(403);
    expect(contains('10.0.0.0/8', '::ffff:10.1.2.3')).toBe(true);
    expect(contains('2001:db8::1', '2001:db8::2')).toBe(false);
    expect(contains('::ffff:127.0.0.1', '127.0.0.1')).toBe(true);
    expect(contains('::ffff:10.0.0.0/104', '10.1.2.3')).toBe(true);
    expect(contains('::ffff:10.0.0.0/104', '11.1.2.3')).toBe(false);
    expect(contains('::/0', '10.1.2.3')).toBe(false);
  });

  test('include the workspace in the response that creates them', async () => {
    const created = await workspace.session.call('createApiToken', {
      params: { tenantId: workspace.tenantId },
      body: { name: 'x', product: 'chat', permissions: ['chat:read'] },
    });
    expect(created).toMatchObject({ tenantId: workspace.tenantId, name: 'x' });
  });

  test.each(products)('of %s return their identity and permissions, and nothing more', async (product) => {
    const { id, key } = await workspace.createKey({ product, environment: 'test' });
    const own = await hub.client(key).call('readToken', {});
    expect(own).toEqual({
      tenantId: workspace.tenantId,
      workspaceName: expect.any(String) as string,
      tokenId: id,
      product,
      environment: 'test',
      permissions: defaultPermissions(product),
      expiresAt: null,
    });
    await workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } });
    await expect(hub.client(key).call('readToken', {})).rejects.toMatchObject({ status: 401 });
    const bound = await workspace.createKey({ product, ipAllowlist: ['203.0.113.0/24'] });
    await expect(hub.client(bound.key).call('readToken', {})).rejects.toMatchObject({ code: 'ip_not_allowed' });
  });

  test('are rejected on creation with permissions of another product, invalid address blocks or past times', async () => {
    const create = (body: Record<string, unknown>) =>
      refused(
        workspace.session.call('createApiToken', {
          params: { tenantId: workspace.tenantId },
          body: { name: 'x', product: 'automations', permissions: ['automations:manage'], ...body } as never,
        }),
      );
    expect(await create({ permissions: ['chat:read'] })).toMatchObject({
      status: 400,
      details: [{ path: 'body.permissions[0]' }],
    });
    // The C function `inet_aton` accepts the last three as 1.2.0.3, 8.0.0.1 and 127.0.0.1.
    for (const block of ['300.1.1.1', '10.0.0.0/33', '1.2.3', '010.0.0.1', '0x7f.1'])
      expect(await create({ ipAllowlist: [block] })).toMatchObject({
        status: 400,
        details: [{ path: 'body.ipAllowlist[0]' }],
      });
    expect(await create({ expiresAt: '2020-01-01T00:00:00Z' })).toMatchObject({
      status: 400,
      details: [{ path: 'body.expiresAt' }],
    });
  });

  test('lose API access with the entitlement, and their workflows lose what it covers', async () => {
    const own = await hub.workspace();
    const platform = hub.client(adminKey);
    await platform.call('putEntitlements', { params: { tenantId: own.tenantId }, body: { automations: false } });
    expect(await refused(own.api.call('listAutomationWorkflows', {}))).toMatchObject({
      status: 403,
      code: 'product_not_entitled',
    });
    expect(await own.session.call('readEntitlements', {})).toMatchObject({ automations: false, ai_agent: true });
    await platform.call('putEntitlements', { params: { tenantId: own.tenantId }, body: { automations: true } });
    expect((await own.api.call('listAutomationWorkflows', {})).data).toEqual([]);
    expect(
      (await refused(hub.client('wrong').call('putEntitlements', { params: { tenantId: own.tenantId }, body: {} })))
        .status,
    ).toBe(401);
  });
});

describe('users', () => {
  test('sign up, sign in and sign out; a session ends immediately on sign-out', async () => {
    const signedIn = await hub
      .client()
      .call('logIn', { body: { email: workspace.email.toUpperCase(), password: workspace.password } });
    const me = hub.client(signedIn.token);
    expect(await me.call('readMe', {})).toMatchObject({
      tenantId: workspace.tenantId,
      user: { email: workspace.email, role: 'admin' },
    });
    await me.call('logOut', {});
    expect((await refused(me.call('readMe', {}))).status).toBe(401);
    expect(
      await refused(hub.client().call('logIn', { body: { email: workspace.email, password: 'wrong' } })),
    ).toMatchObject({ status: 401, code: 'invalid_credentials' });
    expect(
      await refused(hub.client().call('logIn', { body: { email: 'nobody@example.org', password: 'wrong' } })),
    ).toMatchObject({ status: 401, code: 'invalid_credentials' });
    const again = { email: workspace.email, password: 'a long enough password', workspaceName: 'another' };
    expect(await refused(hub.client().call('signUp', { body: again }))).toMatchObject({
      status: 409,
      code: 'email_taken',
    });
  });

  test('sign up only if the operator allows it; the operator can always create workspaces and users', async () => {
    await using closed = await startHub({ SIGN_UP: '' }, hub.database);
    const email = `closed.${Date.now()}@example.org`;
    const body = { email, password: 'a long enough password', workspaceName: `of ${email}` };
    expect(await refused(closed.client().call('signUp', { body }))).toMatchObject({
      status: 403,
      code: 'sign_up_closed',
    });
    await closed.app.identity.createWorkspace(body.workspaceName);
    const entered = await closed
      .client()
      .call('redeemSignInLink', { body: { code: await closed.app.identity.createSignInCode(body.workspaceName) } });
    await closed.client(entered.token).call('addMember', {
      params: { tenantId: entered.tenantId },
      body: { email, password: body.password, role: 'admin' },
    });
    expect((await closed.client().call('logIn', { body: { email, password: body.password } })).tenantId).toBe(
      entered.tenantId,
    );
  });

  test('with the role agent cannot call operations of admins', async () => {
    const email = 'agent@example.org';
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: 'a long enough password' },
    });
    const { token } = await hub.client().call('logIn', { body: { email, password: 'a long enough password' } });
    expect(
      await refused(hub.client(token).call('listApiTokens', { params: { tenantId: workspace.tenantId } })),
    ).toMatchObject({ status: 403, code: 'role_required' });
    expect(await hub.client(token).call('readEntitlements', {})).toHaveProperty('automations');
  });

  test('have at most five valid sign-in links; an older link is invalid', async () => {
    const name = `many links ${Date.now()}`;
    await hub.workspace(name);
    const codes: string[] = [];
    for (let count = 0; count < 6; count += 1) codes.push(await hub.app.identity.createSignInCode(name));
    const [oldest, ...newest] = codes as [string, ...string[]];
    expect((await refused(hub.client().call('redeemSignInLink', { body: { code: oldest } }))).code).toBe(
      'invalid_credentials',
    );
    for (const code of newest)
      expect((await hub.client().call('redeemSignInLink', { body: { code } })).token).not.toBe('');
  });

  test('sign in by a link once, and by a form that another site cannot submit', async () => {
    const name = `linked ${Date.now()}`;
    await hub.app.identity.createWorkspace(name);
    const code = await hub.app.identity.createSignInCode(name);
    expect((await send(hub.url, 'GET', `/sign-in?code=${code}`)).status).toBe(200);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(
      (
        await send(hub.url, 'POST', '/sign-in', {
          headers: { ...form, origin: 'https://evil.example' },
          raw: `code=${code}`,
        })
      ).status,
    ).toBe(403);
    const entered = await send(hub.url, 'POST', '/sign-in', {
      headers: { ...form, origin: hub.url },
      raw: `code=${code}`,
    });
    expect(entered.status).toBe(303);
    const cookie = entered.headers.get('set-cookie') as string;
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const [session] = cookie.split(';') as [string];
    // The next user of the browser must not read the responses from its cache.
    const { tenantId } = workspace;
    for (const path of ['/auth/me', `/tenants/${tenantId}/members`, '/v1/automations/runs', `/tenants/${tenantId}/x`]) {
      const { headers } = await send(hub.url, 'GET', path, { headers: { cookie: session } });
      expect([path, headers.get('cache-control')]).toEqual([path, 'no-store']);
    }
    expect((await send(hub.url, 'GET', '/auth/me', { headers: { cookie: session } })).body).toMatchObject({
      workspaceName: name,
    });
    expect((await send(hub.url, 'POST', '/auth/logout', { headers: { cookie: session } })).status).toBe(403);
    expect(
      (await send(hub.url, 'POST', '/auth/logout', { headers: { cookie: session, origin: hub.url } })).status,
    ).toBe(200);
    expect((await refused(hub.client().call('redeemSignInLink', { body: { code } }))).status).toBe(401);
  });

  test('sign out by the dashboard, to which the page at / leads them, and by no page of another site', async () => {
    const { jwt, session } = await hub.workspace();
    const cookie = `outrigger_session=${jwt}`;
    const home = await send(hub.url, 'GET', '/', { headers: { cookie } });
    expect([home.status, home.headers.get('location')]).toEqual([303, '/app']);
    const dashboard = await send(hub.url, 'GET', '/app');
    expect(dashboard.status).toBe(200);
    // With the policy `no-referrer`, the browser would send the sign-out form with the origin `null`.
    expect(dashboard.headers.get('referrer-policy')).toBe('same-origin');
    const leave = (headers: Record<string, string>) => send(hub.url, 'POST', '/sign-out', { headers });
    for (const origin of ['https://evil.example', 'null']) expect((await leave({ cookie, origin })).status).toBe(403);
    expect((await leave({ cookie })).status).toBe(403);
    await session.call('readMe', {});
    const left = await leave({ cookie, origin: hub.url });
    expect([left.status, left.headers.get('location')]).toEqual([303, '/']);
    expect(left.headers.get('set-cookie')).toMatch(/^outrigger_session=;.*Expires=Thu, 01 Jan 1970/);
    expect((await refused(session.call('readMe', {}))).status).toBe(401);
    // Repeats this with an ended session and without one.
    expect((await leave({ cookie, origin: hub.url })).status).toBe(303);
    expect((await leave({ origin: hub.url })).status).toBe(303);
    const away = await send(hub.url, 'GET', '/', { headers: { cookie } });
    expect(away.status).toBe(200);
    for (const path of ['/sign-in', '/voice']) expect(away.text).toContain(`href="${path}"`);
  });

  test('act only as the user that a page names: a page of another user of the browser is refused', async () => {
    const { user } = await workspace.session.call('readMe');
    const another = (await hub.workspace()).jwt;
    const read = (session: string, method = 'GET', path = '/auth/me') =>
      send(hub.url, method, path, {
        headers: { cookie: `outrigger_session=${session}`, 'outrigger-session-user': user.id, origin: hub.url },
      });
    expect(await read(workspace.jwt)).toMatchObject({ status: 200 });
    expect(await read(another)).toMatchObject({ status: 409, body: { code: 'session_changed' } });
    expect(await read(another, 'POST', '/auth/logout')).toMatchObject({ status: 409 });
    await hub.client(another).call('readMe');
  });

  test('have a session cookie that only this host can set over HTTPS; two cookies are rejected', async () => {
    await using secure = await startHub(
      { PUBLIC_URL: 'https://hub.example.org', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' },
      hub.database,
    );
    const { email, password, jwt } = await hub.workspace();
    const entered = await send(secure.url, 'POST', '/sign-in', {
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: secure.url },
      raw: new URLSearchParams({ email, password }).toString(),
    });
    expect(entered.headers.get('set-cookie')).toMatch(
      /^__Host-outrigger_session=[^;]+; Path=\/; .*HttpOnly; Secure; SameSite=Strict/,
    );
    const status = async (at: TestHub, cookie: string) =>
      (await send(at.url, 'GET', '/auth/me', { headers: { cookie } })).status;
    const [own, plain] = [`__Host-outrigger_session=${jwt}`, `outrigger_session=${jwt}`];
    expect([await status(secure, own), await status(secure, plain)]).toEqual([200, 401]);
    expect([await status(hub, plain), await status(hub, own)]).toEqual([200, 401]);
    for (const other of ['outrigger_session=x', ' outrigger_session =x', plain])
      expect([await status(hub, `${plain}; ${other}`), await status(hub, `${other}; ${plain}`)]).toEqual([401, 401]);
    expect(await status(secure, `${plain}; ${own}`)).toBe(200);
  });

  test('sign in by a password on the page as by the operation, and are redirected only to a page of the hub', async () => {
    const { email, password } = await hub.workspace();
    const enter = (fields: Record<string, string>, origin = hub.url) =>
      send(hub.url, 'POST', '/sign-in', {
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
        raw: new URLSearchParams({ email, password, ...fields }).toString(),
      });
    const entered = await enter({ email: ` ${email.toUpperCase()} `, to: '/voice' });
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/voice']);
    expect(entered.headers.get('set-cookie')).toMatch(/^outrigger_session=.*HttpOnly.*SameSite=Strict/);
    for (const to of ['//evil.example', 'https://evil.example', '/\\evil.example', '/voice/../..//evil.example', ''])
      expect((await enter({ to })).headers.get('location')).toBe('/');
    const wrong = await enter({ password: 'wrong', to: '/voice' });
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null]);
    expect(wrong.text).toContain('The email address or the password is wrong.');
    expect(wrong.text).toContain('name="to" value="/voice"');
    expect(wrong.text).toContain(`value="${email}"`);
    expect((await enter({ email: 'a"><b>@example.org' })).text).toContain('value="a&quot;&gt;&lt;b&gt;@example.org"');
    expect((await enter({}, 'https://evil.example')).status).toBe(403);
    const asked = await send(hub.url, 'GET', '/sign-in?to=%2Fvoice%22%3E');
    expect(asked.text).toContain('name="to" value="/"');
  });

  test.each(['/sign-in', '/approve/x'])('who send an unreadable form to %s see the reason on a page', async (path) => {
    const type = 'application/x-www-form-urlencoded';
    for (const [status, said, headers, raw] of [
      [413, '16 KiB', {}, 'a'.repeat(17_000)],
      [413, '1,000 fields', {}, 'a=&'.repeat(1_001)],
      [415, 'UTF-8', { 'content-type': `${type}; charset=utf-7` }, 'email=x'],
      [415, 'uncompressed', { 'content-encoding': 'zip' }, 'email=x'],
      [400, 'cannot be read', { 'content-encoding': 'gzip' }, 'email=x'],
    ] as const) {
      const answer = await send(hub.url, 'POST', path, {
        headers: { 'content-type': type, origin: hub.url, ...headers },
        raw,
      });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
      expect(answer.text).toContain(said);
    }
  });
});

describe('rate limits', () => {
  test('allow a key its requests per minute, over two processes, less an unused lease', async () => {
    const env = { RATE_LIMIT_PER_MINUTE: '60' };
    await using one = await startHub(env, undefined, patientDatabase);
    await using two = await startHub(env, one.database, patientDatabase);
    const own = await one.workspace();
    await avoidPeriodEnd(minuteMs);
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_value, index) => list({ 'x-api-key': own.key }, (index % 2 === 0 ? one : two).url)),
    );
    const allowed = answers.filter(({ status }) => status === 200).length;
    expect(allowed).toBeLessThanOrEqual(60);
    // A process leases up to 3 requests, and one that gets no more requests keeps up to 2 of them.
    expect(allowed).toBeGreaterThanOrEqual(58);
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(90 - allowed);
    expect(limited[0]?.body.code).toBe('rate_limited');
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    const remaining = answers
      .map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
      .toSorted((left_, right) => left_ - right);
    expect(remaining.at(-1)).toBe(59);
    expect(
      answers.every(
        ({ headers }) =>
          headers.get('x-ratelimit-limit') === '60' && Number(headers.get('x-ratelimit-reset')) > Date.now() / 1000 - 1,
      ),
    ).toBe(true);
  });

  test('block an address after wrong pairing codes, and no other address', async () => {
    const claim = (code: string, address: string) =>
      send(hub.url, 'POST', '/v1/automations/nodes/claim', {
        headers: { 'x-forwarded-for': address },
        body: {
          pairingCode: code,
          device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
        },
      });
    // Wrong codes are counted for ten minutes.
    await avoidPeriodEnd(10 * minuteMs);
    for (let index = 0; index < 10; index += 1) {
      const { status, headers } = await claim('ABCD-EFGH', '198.51.100.7');
      expect(status).toBe(401);
      // The headers show the limit that is nearest, which is not that of all requests.
      const shown = ['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`));
      expect(shown).toEqual(['10', String(9 - index)]);
    }
    const { pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
    expect((await claim(pairingCode, '198.51.100.7')).status).toBe(429);
    expect((await claim(pairingCode.toLowerCase().replace('-', ' '), '198.51.100.8')).status).toBe(200);
    expect((await claim(pairingCode, '198.51.100.8')).body.code).toBe('pairing_code_invalid');
  });
});

describe('a user who leaves', () => {
  const join = async (own: TestWorkspace, role: 'admin' | 'agent' = 'agent') => {
    const email = `leaver.${process.hrtime.bigint()}@example.org`;
    await own.session.call('addMember', {
      params: { tenantId: own.tenantId },
      body: { email, password: 'correct horse battery', role },
    });
    return {
      email,
      session: hub.client(
        (await hub.client().call('logIn', { body: { email, password: 'correct horse battery' } })).token,
      ),
    };
  };

  test('is signed out immediately and cannot sign in again', async () => {
    const own = await hub.workspace();
    const { email, session } = await join(own);
    await session.call('readMe', {});
    await hub.app.identity.members.remove(own.tenantId, { email: email.toUpperCase() }, 'cli');
    expect((await refused(session.call('readMe', {}))).status).toBe(401);
    expect(
      (await refused(hub.client().call('logIn', { body: { email, password: 'correct horse battery' } }))).status,
    ).toBe(401);
    await expect(hub.app.identity.members.remove(own.tenantId, { email }, 'cli')).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(
      hub.app.identity.members.remove((await hub.workspace()).tenantId, { email: own.email }, 'cli'),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('leaves no unknown key: keys that the user created are named, and revoked on request', async () => {
    const own = await hub.workspace();
    const key = async (session: TestWorkspace['session'], name: string) =>
      session.call('createApiToken', {
        params: { tenantId: own.tenantId },
        body: { name, product: 'automations', environment: 'live', permissions: ['automations:manage'] },
      });
    const works = async (secret: string) =>
      (await send(hub.url, 'GET', '/v1/automations/workflows', { headers: { 'x-api-key': secret } })).status === 200;
    for (const revokeKeys of [false, true]) {
      const { email, session } = await join(own, 'admin');
      const [theirs, gone, others] = [
        await key(session, 'theirs'),
        await key(session, 'gone'),
        await key(own.session, 'others'),
      ];
      await session.call('deleteApiToken', { params: { tenantId: own.tenantId, id: gone.id } });
      expect(await hub.app.identity.members.remove(own.tenantId, { email }, 'cli', { revokeKeys })).toMatchObject({
        deleted: true,
        keys: [{ id: theirs.id, name: 'theirs', revoked: revokeKeys }],
      });
      expect([await works(theirs.key), await works(others.key)]).toEqual([!revokeKeys, true]);
    }
  });

  test('is signed out immediately by a password change, and signs in with the new password only', async () => {
    const own = await hub.workspace();
    const { email, session } = await join(own);
    await hub.app.identity.members.setPassword(own.tenantId, { email, password: 'another horse battery' }, 'cli');
    expect((await refused(session.call('readMe', {}))).status).toBe(401);
    expect(
      (await refused(hub.client().call('logIn', { body: { email, password: 'correct horse battery' } }))).status,
    ).toBe(401);
    expect(await hub.client().call('logIn', { body: { email, password: 'another horse battery' } })).toMatchObject({
      user: { email },
    });
  });

  test('is never the last admin, also when several leave at the same time', async () => {
    const own = await hub.workspace();
    const other = await join(own, 'admin');
    const outcomes = await Promise.allSettled(
      [own.email, other.email].map((email) => hub.app.identity.members.remove(own.tenantId, { email }, 'cli')),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});
