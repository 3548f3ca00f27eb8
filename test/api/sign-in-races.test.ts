import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { duringWriteLock } from '../fixtures/write-lock.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({}, undefined, patientDatabase);
});
afterAll(() => hub[Symbol.asyncDispose]());

const password = 'another long password';
const keyOf = (name: string) => ({
  name,
  product: 'automations' as const,
  environment: 'live' as const,
  permissions: ['automations:read' as const],
});

describe('a removal or demotion of a member leaves no key', () => {
  async function secondAdmin() {
    const workspace = await hub.workspace();
    const { tenantId, session } = workspace;
    const email = `second.${tenantId}@example.org`;
    const { id } = await session.call('addMember', { params: { tenantId }, body: { email, password, role: 'admin' } });
    const own = hub.client((await hub.client().call('logIn', { body: { email, password } })).token);
    const create = () => own.call('createApiToken', { params: { tenantId }, body: keyOf('made meanwhile') });
    const remove = () =>
      session.call('removeMember', { params: { tenantId, userId: id }, query: { revokeKeys: 'true' } });
    const works = async (key: string) =>
      hub
        .client(key)
        .call('listAutomationWorkflows', {})
        .then(
          () => true,
          () => false,
        );
    return { session, tenantId, id, create, remove, works };
  }

  test('that the member creates before the removal', async () => {
    const { create, remove, works } = await secondAdmin();
    const [created, removed] = await duringWriteLock(hub.database, 'api_tokens', [create, remove]);
    expect(removed).toMatchObject({ keys: [{ id: (created as { id: string }).id, revoked: true }] });
    expect(await works((created as { key: string }).key)).toBe(false);
  });

  test('that the member creates during the removal', async () => {
    const { create, remove, session, tenantId } = await secondAdmin();
    const first = await create();
    const [removed, created] = await duringWriteLock(hub.database, 'api_tokens', [remove, create]);
    expect(removed).toMatchObject({ keys: [{ id: first.id, revoked: true }] });
    expect(created).toEqual({ status: 401 });
    const { data } = await session.call('listApiTokens', { params: { tenantId } });
    expect(data.filter(({ name }) => name === 'made meanwhile')).toEqual([]);
  });

  test('that the member creates during the loss of the role admin', async () => {
    const { create, session, tenantId, id } = await secondAdmin();
    const demote = () => session.call('changeMember', { params: { tenantId, userId: id }, body: { role: 'agent' } });
    const [demoted, created] = await duringWriteLock(hub.database, 'audit_log', [demote, create]);
    expect(demoted).toMatchObject({ role: 'agent' });
    expect(created).toEqual({ status: 403 });
  });
});

describe('a member who is removed or demoted while a request waits', () => {
  async function admins() {
    const workspace = await hub.workspace();
    const { tenantId, session } = workspace;
    const add = async (name: string, client = session) => {
      const email = `${name}.${tenantId}@example.org`;
      return client.call('addMember', { params: { tenantId }, body: { email, password, role: 'admin' } });
    };
    const second = await add('second');
    const third = await add('third');
    const body = { email: second.email, password };
    const own = hub.client((await hub.client().call('logIn', { body })).token);
    const emails = async () =>
      (await session.call('listMembers', { params: { tenantId } })).data.map(({ email, role }) => `${email} ${role}`);
    const of = (userId: string) => ({ params: { tenantId, userId } });
    return { session, own, add, emails, second: of(second.id), third: of(third.id) };
  }

  test.each([
    ['removed', 401],
    ['demoted', 403],
  ] as const)('adds, removes and demotes no member: %s', async (change, status) => {
    const { session, own, add, emails, second, third } = await admins();
    const [, ...refused] = await duringWriteLock(hub.database, 'audit_log', [
      () =>
        change === 'removed'
          ? session.call('removeMember', second)
          : session.call('changeMember', { ...second, body: { role: 'agent' } }),
      () => add('fourth', own),
      () => own.call('removeMember', third),
      () => own.call('changeMember', { ...third, body: { role: 'agent' } }),
    ]);
    expect(refused).toEqual([{ status }, { status }, { status }]);
    const left = await emails();
    expect(left.filter((line) => line.startsWith('fourth'))).toEqual([]);
    expect(left.filter((line) => line.startsWith('third'))).toEqual([expect.stringMatching(/ admin$/)]);
  });
});

describe('a change of the password ends sessions of the old password', () => {
  async function member() {
    const workspace = await hub.workspace('races of ' + String(process.hrtime.bigint()));
    const { session, email, tenantId } = workspace;
    const logIn = () => hub.client().call('logIn', { body: { email, password: workspace.password } });
    const change = () =>
      session.call('changePassword', { body: { currentPassword: workspace.password, newPassword: password } });
    const isSignedIn = (token: string) =>
      hub
        .client(token)
        .call('readMe', {})
        .then(
          () => true,
          () => false,
        );
    return { tenantId, email, logIn, change, isSignedIn };
  }

  test('of a sign-in that is verified before the change', async () => {
    const { logIn, change, isSignedIn } = await member();
    const [signedIn, changed] = await duringWriteLock(hub.database, 'sign_in_addresses', [logIn, change]);
    expect(changed).toEqual({ changed: true });
    expect(await isSignedIn((signedIn as { token: string }).token)).toBe(false);
  });

  test('of a sign-in that is verified during the change', async () => {
    const { logIn, change } = await member();
    const [changed, signedIn] = await duringWriteLock(hub.database, 'password_resets', [change, logIn]);
    expect(changed).toEqual({ changed: true });
    expect(signedIn).toEqual({ status: 401 });
  });

  test('of a sign-in link that is redeemed meanwhile', async () => {
    const { change, isSignedIn, email } = await member();
    const [{ name } = { name: '' }] = await hub.database.query<{ name: string }>(
      'SELECT t.name FROM tenants t JOIN users u ON u.tenant_id = t.id WHERE u.email = $1',
      [email],
    );
    const code = await hub.app.identity.createSignInCode(name);
    const redeem = () => hub.client().call('redeemSignInLink', { body: { code } });
    const [signedIn, changed] = await duringWriteLock(hub.database, 'sign_in_addresses', [redeem, change]);
    expect(changed).toEqual({ changed: true });
    expect(await isSignedIn((signedIn as { token: string }).token)).toBe(false);
  });
});
