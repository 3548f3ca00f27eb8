import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addressBlock } from '../../hub/platform/rate-limiter/address-block.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ TRUSTED_PROXIES: '127.0.0.1' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const limit = 30;
/** So many that the limit shows even when a minute ends in between. */
const tries = 3 * limit;
const logIn = (address: string, email: string, password = 'a wrong password') => send(hub.url, 'POST', '/auth/login', { headers: { 'x-forwarded-for': address }, body: { email, password } });
const each = (work: (index: number) => Promise<Answer>) => Promise.all(Array.from({ length: tries }, (_value, index) => work(index)));
const countOf = (answers: Answer[], status: number) => answers.filter((answer) => answer.status === status).length;

describe('limits by address', () => {
  test('count what one customer gets: an IPv4 address, however it is written, and a /64 of IPv6', () => {
    expect(addressBlock('2001:db8:1:2:3:4:5:6')).toBe(addressBlock('2001:0DB8:1:2::1'));
    expect(addressBlock('2001:db8:1:2::1')).not.toBe(addressBlock('2001:db8:1:3::1'));
    expect(addressBlock('::ffff:203.0.113.9')).toBe('203.0.113.9');
    expect(addressBlock('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
    expect(addressBlock('no address')).toBe('no address');
  });

  test('hold for sign-in over all addresses of a /64, and leave the next one alone', async () => {
    const answers = await each((index) => logIn(`2001:db8:1:2::${index.toString(16)}`, `nobody${index}@example.org`));
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect((await logIn('2001:db8:1:3::1', 'somebody@example.org')).status).toBe(401);
  });

  test('hold for the form of a sign-in link', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: hub.url };
    const answers = await each((index) => send(hub.url, 'POST', '/sign-in', { headers: { ...form, 'x-forwarded-for': `2001:db8:2:2::${index.toString(16)}` }, raw: 'code=wrong' }));
    expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  test('hold for pages that strangers open', async () => {
    const answers: Answer[] = [];
    for (let round = 0; round < 6; round += 1) answers.push(...(await each((index) => send(hub.url, 'GET', `/approve/apl_${round}_${index}`, { headers: { 'x-forwarded-for': '203.0.113.77' } }))));
    expect(countOf(answers, 404)).toBeLessThanOrEqual(2 * 240);
    expect(countOf(answers, 429)).toBeGreaterThan(0);
  });

  test('hold for pairing codes over all addresses of a /64', async () => {
    const device = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
    const claim = (index: number) => send(hub.url, 'POST', '/v1/automations/nodes/claim', { headers: { 'x-forwarded-for': `2001:db8:3:3::${index.toString(16)}` }, body: { pairingCode: 'ABCD-EFGH', device } });
    for (let index = 0; index < 25; index += 1) await claim(index);
    expect((await claim(99)).status).toBe(429);
  });
});

describe('an account', () => {
  test('takes so many sign-ins from however many addresses, known or not, and its owner is not locked out for ever', async () => {
    const from = (offset: number, email: string) => each((index) => logIn(`2001:db8:${(offset + index).toString(16)}::1`, email));
    const [known, unknown] = [await from(0x1000, workspace.email), await from(0x2000, 'not.known@example.org')];
    for (const answers of [known, unknown]) {
      expect(countOf(answers, 401)).toBeLessThanOrEqual(2 * limit);
      expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    }
    const refusal = (answers: Answer[]) => answers.find(({ status }) => status === 429)?.body.message?.replaceAll(/\d+/g, 'n');
    expect(refusal(known)).toBe(refusal(unknown));
    expect((await logIn('2001:db8:3000::1', workspace.email.toUpperCase(), workspace.password)).status).toBe(429);
    const other = await hub.workspace();
    expect((await logIn('2001:db8:3000::1', other.email, other.password)).status).toBe(200);
    expect((await send(hub.url, 'GET', '/auth/me', { headers: { authorization: `Bearer ${workspace.jwt}` } })).status).toBe(200);
    await hub.database.query("update rate_limits set window_start = window_start - interval '15 minutes' where key like 'account:%'");
    expect((await logIn('2001:db8:3000::1', workspace.email, workspace.password)).status).toBe(200);
  });
});

describe('a session', () => {
  test('has so many requests a minute, as a key has', async () => {
    await using limited = await startHub({ RATE_LIMIT_PER_MINUTE: String(limit) }, hub.database);
    const answers = await each(() => send(limited.url, 'GET', '/auth/me', { headers: { authorization: `Bearer ${workspace.jwt}` } }));
    expect(countOf(answers, 200)).toBeLessThanOrEqual(2 * limit);
    expect(countOf(answers, 429)).toBeGreaterThanOrEqual(limit);
    expect(answers[0]?.headers.get('x-ratelimit-limit')).toBe(String(limit));
  });
});

describe('a device', () => {
  test('has so many requests a minute at all processes together, and takes none from another', async () => {
    const settings = { NODE_RATE_LIMIT_PER_MINUTE: String(limit) };
    await using first = await startHub(settings, hub.database);
    await using second = await startHub(settings, hub.database);
    const pair = async () => {
      const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
      const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device: { name: 'x', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] } } });
      return (index: number) => {
        const headers = { authorization: `Bearer ${deviceSecret}` };
        const { url } = index % 2 === 0 ? first : second;
        return index % 3 === 0 ? send(url, 'GET', `/v1/automations/nodes/${nodeId}/commands`, { headers }) : send(url, 'POST', `/v1/automations/nodes/${nodeId}/heartbeat`, { headers, body: {} });
      };
    };
    const [flood, quiet] = [await pair(), await pair()];
    const answers = await each(flood);
    expect(countOf(answers, 200)).toBeGreaterThanOrEqual(limit);
    // What each process lets through uncounted, in as many minutes.
    expect(countOf(answers, 200)).toBeLessThanOrEqual(2 * limit + 4);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({ body: { code: 'rate_limited' } });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    for (let index = 0; index < 4; index += 1) expect((await quiet(index)).status).toBe(200);
  });
});
