import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { startRegistrar } from '../fixtures/sip-registrar.ts';
import type { SipRegistrar } from '../fixtures/sip-registrar.ts';
import { expectRefused } from '../fixtures/visitor.ts';

let hub: TestHub;
let registrar: SipRegistrar;
let workspace: TestWorkspace;
beforeAll(async () => {
  registrar = await startRegistrar({ transport: 'udp' });
  hub = await startHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await registrar[Symbol.asyncDispose]();
});
beforeEach(async () => {
  if ((await status()) !== null) await workspace.session.call('removeOwnTrunk', {});
});

const trunk = () => ({
  host: '127.0.0.1',
  port: registrar.port,
  username: 'acme',
  password: registrar.password,
  transport: 'udp' as const,
});
const set = (more: object = {}, session = workspace.session) =>
  session.call('registerOwnTrunk', { body: { ...trunk(), ...more } });
const status = (session = workspace.session) => session.call('getSipStatus', {});
const audit = () =>
  workspace.session.call('listAuditLog', {
    params: { tenantId: workspace.tenantId },
    query: { targetType: 'sip_trunk' },
  } as never);
const registered = async () => {
  await set();
  await expect.poll(() => status()).toMatchObject({ state: 'registered', registered: true });
};

describe('an own trunk', () => {
  test('is set, shown without its password, and removed', async () => {
    const { data: before } = await audit();
    expect(await status()).toBeNull();
    await registered();
    const shown = await status();
    expect(shown).toEqual({
      mode: 'own',
      state: 'registered',
      host: '127.0.0.1',
      port: registrar.port,
      username: 'acme',
      transport: 'udp',
      registered: true,
      lastCode: 200,
      lastReason: 'OK',
      expiresAt: expect.any(String),
      nextAttemptAt: expect.any(String),
      checkedAt: expect.any(String),
    });
    expect(await set({ password: undefined })).toMatchObject({ state: 'registering' });
    const removed = await workspace.session.call('removeOwnTrunk', {});
    expect(removed).toMatchObject({ deleted: true });
    expect(await status()).toBeNull();
    await expect.poll(() => registrar.bindings.size).toBe(0);
    await expectRefused(workspace.session.call('removeOwnTrunk', {}), 404, 'not_found');
    const { data } = await audit();
    data.splice(data.length - before.length);
    expect(data.map(({ action, targetId }) => [action, targetId])).toEqual(
      ['deleted', 'updated', 'created'].map((what) => [`sip_trunk.${what}`, removed.id]),
    );
    expect(JSON.stringify(data)).not.toContain('secret');
  });

  test('adds its missed calls once to the records of its workspace', async () => {
    await registered();
    const invite = [
      'INVITE sip:me@here SIP/2.0',
      'Via: SIP/2.0/UDP carrier;branch=z9hG4bKcall',
      'From: <sip:+15005550006@carrier>;tag=1',
      'To: <sip:+15005550001@here>',
      'Call-ID: missed-call',
      'CSeq: 1 INVITE',
    ];
    registrar.send(invite);
    registrar.send(invite);
    await expect.poll(() => registrar.responses.at(-1)).toMatch(/^SIP\/2\.0 480 /);
    registrar.send(invite.map((line) => line.replace('INVITE', 'ACK')));
    const calls = async () => (await workspace.session.call('listCalls', { query: {} })).items;
    await expect.poll(calls).toMatchObject([
      {
        provider: 'sip_trunk',
        callSid: 'missed-call',
        direction: 'inbound',
        fromId: '+15005550006',
        toId: '+15005550001',
        state: 'ended',
        result: 'missed',
        sipCode: 480,
        durationSecs: 0,
      },
    ]);
  });

  test('requires a signed-in user of its workspace, and an admin of an entitled workspace for changes', async () => {
    await set();
    const other = await hub.workspace();
    expect(await status(other.session)).toBeNull();
    await expectRefused(other.session.call('removeOwnTrunk', {}), 404, 'not_found');
    for (const [method, path] of [
      ['POST', '/sip/register'],
      ['GET', '/sip/status'],
      ['DELETE', '/sip'],
    ] as const)
      expect((await send(hub.url, method, path)).status).toBe(401);
    const email = `agent-${process.hrtime.bigint()}@example.org`;
    const params = { tenantId: workspace.tenantId };
    await workspace.session.call('addMember', {
      params,
      body: { email, password: 'correct horse battery', role: 'agent' },
    });
    const { token } = await hub.client().call('logIn', { body: { email, password: 'correct horse battery' } });
    const agent = hub.client(token);
    expect(await status(agent)).toMatchObject({ username: 'acme' });
    await expectRefused(set({}, agent), 403, 'role_required');
    await expectRefused(agent.call('removeOwnTrunk', {}), 403, 'role_required');
    await hub.client(adminKey).call('putEntitlements', { params, body: { business_calling: false } });
    await expectRefused(set(), 403, 'product_not_entitled');
    expect(await workspace.session.call('removeOwnTrunk', {})).toMatchObject({ deleted: true });
    await hub.client(adminKey).call('putEntitlements', { params, body: { business_calling: true } });
  });

  test.each([
    [{ host: 'sip.example.com:5060' }, 'host'],
    [{ host: 'sip:example.com' }, 'host'],
    [{ host: '' }, 'host'],
    [{ host: '10.0.0.1' }, 'host'],
    [{ host: '0xa.1', port: 1 }, 'host'],
    [{ host: '::ffff:169.254.169.254' }, 'host'],
    [{ port: 0 }, 'port'],
    [{ port: 65_536 }, 'port'],
    [{ username: 'a b' }, 'username'],
    [{ username: 'a\r\nVia: x' }, 'username'],
    [{ password: 'a\r\nb' }, 'password'],
    [{ password: undefined }, 'password'],
    [{ transport: 'ws' }, 'transport'],
  ])('with an invalid setting is rejected: %j', async (more, field) => {
    const refused = set(more as never);
    await expectRefused(refused, 400, 'validation_failed');
    await expect(refused).rejects.toThrow(new RegExp(`body\\.${field}`));
  });
});
