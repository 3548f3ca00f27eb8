import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { addressBlock } from '../../hub/platform/rate-limiter/address-block.ts';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';
import { ageRateLimits, removeRateLimits } from '../fixtures/stage/core.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ TRUSTED_PROXIES: '127.0.0.1' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const limit = 30;
/** Enough requests to reach the limit even if a minute ends in between. */
const tries = 3 * limit;
const logIn = (address: string, email: string, password = 'a wrong password') =>
  send(hub.url, 'POST', '/auth/login', { headers: { 'x-forwarded-for': address }, body: { email, password } });
const each = (work: (index: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: tries }, (_value, index) => work(index)));
const countOf = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length;

describe('rate limits by address', () => {
  test('count by customer: an IPv4 address in any notation, and a /64 of IPv6', () => {
    expect(addressBlock('2001:db8:1:2:3:4:5:6')).toBe(addressBlock('2001:0DB8:1:2::1'));
    expect(addressBlock('2001:db8:1:2::1')).not.toBe(addressBlock('2001:db8:1:3::1'));
    expect(addressBlock('::ffff:203.0.113.9')).toBe('203.0.113.9');
    expect(addressBlock('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
    expect(addressBlock('no address')).toBe('no address');
  });

  test('apply to sign-in over all addresses of a /64, and not to the next one', async () => {
    const answers = await each((index) => logIn(`2001:db8:1:2::${index.toString(16)}`, `nobody${index}@example.org`));
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect((await logIn('2001:db8:1:3::1', 'somebody@example.org')).status).toBe(401);
  });

  test('apply to the form of a sign-in link', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: hub.url };
    const answers = await each((index) =>
      send(hub.url, 'POST', '/sign-in', {
        headers: { ...form, 'x-forwarded-for': `2001:db8:2:2::${index.toString(16)}` },
        raw: 'code=wrong',
      }),
    );
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('apply to pages that are open to unauthenticated users', async () => {
    const answers: Answer[] = [];
    for (let round = 0; round < 6; round += 1)
      answers.push(
        ...(await each((index) =>
          send(hub.url, 'GET', `/approve/apl_${round}_${index}`, { headers: { 'x-forwarded-for': '203.0.113.77' } }),
        )),
      );
    expect(countOf(answers, 404)).toBeLessThanOrEqual(2 * 240);
    expect(countOf(answers, 429)).toBeGreaterThan(0);
  });

  test('apply to pairing codes over all addresses of a /64', async () => {
    const device = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
    const claim = (index: number) =>
      send(hub.url, 'POST', '/v1/automations/nodes/claim', {
        headers: { 'x-forwarded-for': `2001:db8:3:3::${index.toString(16)}` },
        body: { pairingCode: 'ABCD-EFGH', device },
      });
    // More than twice as many as a window allows, because one can end in between.
    const statuses: number[] = [];
    while (statuses.length < 25 && statuses.at(-1) !== 429) statuses.push((await claim(statuses.length)).status);
    expect(statuses.at(-1)).toBe(429);
  });
});

describe('rejected calls', () => {
  const settings = { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_PER_MINUTE: String(limit) };
  const call = (url: string, address: string, key: string, path = '/v1/automations/workflows') =>
    send(url, 'GET', path, { headers: { 'x-forwarded-for': address, 'x-api-key': key } });
  /** In Unix seconds. */
  let testStart = 0;
  beforeEach(() => {
    testStart = Math.floor(Date.now() / 1000);
  });
  const expectLimitHeaders = (answer: Answer | undefined, most: number) => {
    const number = (name: string) => Number(answer?.headers.get(name));
    expect(number('retry-after')).toBeGreaterThan(0);
    expect(number('x-ratelimit-limit')).toBe(most);
    expect(answer?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(number('x-ratelimit-reset')).toBeGreaterThanOrEqual(testStart);
    expect(answer?.headers.get('x-request-id')).toBe(answer?.body.requestId);
  };

  test('with a malformed path parameter are authenticated first, and count', async () => {
    await avoidPeriodEnd(minuteMs);
    const own = await hub.workspace();
    const malformed = '/v1/automations/workflows/no-uuid';
    const refused = await call(hub.url, '2001:db8:f:9::1', 'no key', malformed);
    expect(refused.body.code).toBe('invalid_token');
    const before = Number((await call(hub.url, '2001:db8:f:9::1', own.key)).headers.get('x-ratelimit-remaining'));
    const answer = await call(hub.url, '2001:db8:f:9::1', own.key, malformed);
    expect(answer.body).toMatchObject({ code: 'validation_failed', details: [{ path: 'params.id' }] });
    expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBeLessThan(before);
    const device = await send(hub.url, 'POST', '/v1/automations/nodes/no-uuid/heartbeat', {
      headers: { authorization: 'Bearer made-up' },
      body: {},
    });
    expect(device.body.code).toBe('validation_failed');
  });

  test('with invalid keys are limited by address over all processes, and a valid key is not', async () => {
    await using first = await startHub(settings, hub.database);
    await using second = await startHub(settings, hub.database);
    const own = await hub.workspace();
    for (const { url } of [first, second]) expect((await call(url, '2001:db8:f:1::1', own.key)).status).toBe(200);
    const made = `key_live_automations_abcdefgh_${'a'.repeat(49)}`;
    const answers = await each((index) =>
      call(
        index % 2 === 0 ? first.url : second.url,
        `2001:db8:f:1::${index.toString(16)}`,
        index % 3 === 0 ? made : 'x',
      ),
    );
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expectLimitHeaders(
      answers.find(({ status }) => status === 429),
      limit,
    );
    expect((await call(first.url, '2001:db8:f:1::1', own.key)).status).toBe(200);
    expect((await call(first.url, '2001:db8:f:2::1', 'x')).status).toBe(401);
  });

  test('with wrong platform admin keys are limited by address', async () => {
    await using limited = await startHub(settings, hub.database);
    const answers = await each((index) =>
      send(limited.url, 'PUT', `/tenants/${workspace.tenantId}/entitlements`, {
        headers: { 'x-forwarded-for': '2001:db8:f:3::1', authorization: `Bearer guess${index}` },
        body: {},
      }),
    );
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expectLimitHeaders(
      answers.find(({ status }) => status === 429),
      30,
    );
  });

  test('without the permission count towards the limit of the key, and their headers say so', async () => {
    await using limited = await startHub(settings, hub.database);
    const { key } = await workspace.createKey({ product: 'chat', permissions: ['visitors:read'] });
    const from = (index: number) => `2001:db8:f:${(index + 256).toString(16)}::1`;
    const answers = await each((index) => call(limited.url, from(index), key, '/v1/chat/conversations'));
    expect(countOf(answers, 403)).toBeGreaterThan(0);
    expect(countOf(answers, 403)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect(answers.find(({ status }) => status === 403)?.headers.get('x-ratelimit-limit')).toBe(String(limit));
    expectLimitHeaders(
      answers.find(({ status }) => status === 429),
      limit,
    );
  });

  test('do not include successful calls, which do not use the shared limits of their address', async () => {
    await using limited = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' }, hub.database);
    expect((await call(limited.url, '2001:db8:f:4::1', workspace.key)).status).toBe(200);
    using recorder = new StatementRecorder(1000);
    for (let count = 0; count < 20; count += 1)
      expect((await call(limited.url, '2001:db8:f:4::1', workspace.key)).status).toBe(200);
    expect(recorder.statements.length).toBeGreaterThan(0);
    expect(JSON.stringify(recorder.statements.map(({ values }) => values))).not.toContain('refused:');
  });

  test('of one operation name the limit of this operation, not of the key', async () => {
    const own = await hub.workspace();
    const answers = await Promise.all(
      Array.from({ length: 15 }, () =>
        send(hub.url, 'GET', '/calls/export', { headers: { authorization: `Bearer ${own.jwt}` } }),
      ),
    );
    expectLimitHeaders(
      answers.find(({ status }) => status === 429),
      5,
    );
  });

  test('with an invalid secret of a hook or a channel are rejected before a large body is parsed', async () => {
    const large = `{"event":"paid","payload":[${'{},'.repeat(300_000)}`;
    const headers = { 'content-type': 'application/json', 'x-service-automation-token': 'made-up' };
    const hook = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', { headers, raw: large });
    expect(hook.body.code).toBe('webhook_token_mismatch');
    const path = `/v1/automations/channels/${crypto.randomUUID()}/inbound`;
    const channel = await send(hub.url, 'POST', path, { headers, raw: large });
    expect(channel.body.code).toBe('channel_secret_invalid');
  });

  test('without a credential are rejected above 64 KiB', async () => {
    const answer = await send(hub.url, 'POST', '/auth/login', {
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '2001:db8:f:6::1' },
      raw: JSON.stringify({ email: 'x'.repeat(70_000) }),
    });
    expect(answer.body.code).toBe('payload_too_large');
  });

  test('of a webhook token name the limit of its address', async () => {
    await using limited = await startHub({ ...settings, HOOK_RATE_LIMIT_PER_MINUTE: '5' }, hub.database);
    const hook = () =>
      send(limited.url, 'POST', '/v1/automations/hooks/inbound', {
        headers: { 'x-forwarded-for': '2001:db8:f:5::1', 'x-service-automation-token': 'a token of no workflow' },
        body: { event: 'paid' },
      });
    const answers = await each(hook);
    expect(answers.find(({ status }) => status === 401)?.headers.get('x-ratelimit-limit')).toBe('5');
    expectLimitHeaders(
      answers.find(({ status }) => status === 429),
      5,
    );
  });
});

describe('an account', () => {
  const perAddress = 3;
  let limited: TestHub;
  const start = () =>
    startHub({ TRUSTED_PROXIES: '127.0.0.1', SIGN_IN_RATE_LIMIT_PER_MINUTE: String(perAddress) }, hub.database);
  beforeAll(async () => {
    limited = await start();
  });
  afterAll(() => limited[Symbol.asyncDispose]());
  const tryFrom = (address: string, email: string, password = 'a wrong password') =>
    send(limited.url, 'POST', '/auth/login', { headers: { 'x-forwarded-for': address }, body: { email, password } });
  /** Sends wrong passwords from many addresses. */
  const guess = (block: string, email: string) =>
    each((index) => tryFrom(`2001:db8:${block}:${index.toString(16)}::1`, email));
  /** Ends the windows that count attempts per address, and keeps those per account. */
  const nextMinute = () => removeRateLimits(hub.database, 'sign-in:%');
  const nextQuarter = async () => {
    await ageRateLimits(hub.database, 'account:%', { minutes: 15 });
    // By the clock of the process the window continues, and it refuses without a query.
    await limited[Symbol.asyncDispose]();
    limited = await start();
  };

  test('is locked for one address after failed sign-ins, and for no other address', async () => {
    const statuses: number[] = [];
    // A quarter of an hour, which has a count of its own, can begin in between.
    for (let index = 0; index <= 4 * perAddress && statuses.at(-1) !== 429; index += 1) {
      await nextMinute();
      statuses.push((await tryFrom(`2001:db8:a:a::${index + 1}`, workspace.email)).status);
    }
    expect(statuses.at(-1)).toBe(429);
    expect((await tryFrom('2001:db8:a:b::1', workspace.email, workspace.password)).status).toBe(200);
  });

  test('is not locked for its owner at known addresses, despite failed sign-ins from other addresses', async () => {
    // Attempts are counted for a quarter of an hour, and a busy machine needs most of a minute for them.
    await avoidPeriodEnd(15 * minuteMs, minuteMs);
    const [owner, home] = [await hub.workspace(), '2001:db8:b0b::1'];
    expect((await tryFrom(home, owner.email, owner.password)).status).toBe(200);
    const [known, unknown] = [await guess('c1', owner.email), await guess('c2', 'not.known@example.org')];
    for (const answers of [known, unknown]) {
      expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * 10 * perAddress);
      expect(countOf(answers, 429)).toBeGreaterThanOrEqual(10 * perAddress);
    }
    const refusal = (answers: Answer[]) =>
      answers.find(({ status }) => status === 429)?.body.message?.replaceAll(/\d+/g, 'n');
    expect(refusal(known)).toBe(refusal(unknown));
    // Another address in the same /64 network.
    expect((await tryFrom('2001:db8:b0b::2', owner.email.toUpperCase(), owner.password)).status).toBe(200);
    expect((await tryFrom('2001:db8:d::1', owner.email, owner.password)).status).toBe(429);
    // A known address of one account does not apply to another account.
    expect((await tryFrom(home, 'not.known@example.org')).status).toBe(429);
    await nextQuarter();
    expect((await tryFrom('2001:db8:d::1', owner.email, owner.password)).status).toBe(200);
  });

  test('forgets the known addresses of its owner on a password change, and all but the latest few addresses', async () => {
    const owner = await hub.workspace();
    const placesOf = async () =>
      (
        await hub.database.query<{ n: number }>(
          'select count(*)::int as n from sign_in_addresses a join users u on u.id = a.user_id where u.email = $1',
          [owner.email],
        )
      )[0]?.n;
    for (let index = 0; index < 25; index += 1)
      expect((await tryFrom(`2001:db8:e:${index.toString(16)}::1`, owner.email, owner.password)).status).toBe(200);
    expect(await placesOf()).toBe(20);
    await limited.app.identity.members.setPassword(
      owner.tenantId,
      { email: owner.email, password: 'another correct horse' },
      'cli',
    );
    expect(await placesOf()).toBe(0);
  });
});

describe('a session', () => {
  test('has a rate limit per minute like a key', async () => {
    await using limited = await startHub({ RATE_LIMIT_PER_MINUTE: String(limit) }, hub.database);
    const answers = await each(() =>
      send(limited.url, 'GET', '/auth/me', { headers: { authorization: `Bearer ${workspace.jwt}` } }),
    );
    expect(countOf(answers, 200)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect(answers[0]?.headers.get('x-ratelimit-limit')).toBe(String(limit));
  });
});

describe('a device', () => {
  test('has a rate limit per minute over all processes, separate from other devices', async () => {
    const settings = { NODE_RATE_LIMIT_PER_MINUTE: String(limit) };
    await using first = await startHub(settings, hub.database);
    await using second = await startHub(settings, hub.database);
    const pair = async () => {
      const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
      const { deviceSecret } = await hub.client().call('claimAutomationNode', {
        body: {
          pairingCode,
          device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] },
        },
      });
      return (index: number) => {
        const headers = { authorization: `Bearer ${deviceSecret}` };
        const { url } = index % 2 === 0 ? first : second;
        return index % 3 === 0
          ? send(url, 'GET', `/v1/automations/nodes/${nodeId}/commands`, { headers })
          : send(url, 'POST', `/v1/automations/nodes/${nodeId}/heartbeat`, { headers, body: {} });
      };
    };
    const [flood, quiet] = [await pair(), await pair()];
    const answers = await each(flood);
    expect(countOf(answers, 200)).toBeGreaterThanOrEqual(limit);
    // Each process may allow a few requests without counting them in each of two minutes.
    expect(countOf(answers, 200)).toBeLessThanOrEqual(2 * limit + 4);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({ body: { code: 'rate_limited' } });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    for (let index = 0; index < 4; index += 1) expect((await quiet(index)).status).toBe(200);
  });
});
