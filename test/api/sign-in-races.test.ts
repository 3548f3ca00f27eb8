import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiError } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/**
 * Starts requests one after the other while no transaction can write to a table. Each one starts when the one before it
 * has ended or waits for a lock. @returns their results after the table is writable again.
 */
async function duringWriteLock<Results extends unknown[]>(
  table: 'api_tokens' | 'audit_log' | 'password_resets' | 'sign_in_addresses',
  requests: { [Index in keyof Results]: () => Promise<Results[Index]> },
): Promise<{ [Index in keyof Results]: Results[Index] | { status: number } }> {
  const holder = new Client(hub.database.url);
  await holder.connect();
  try {
    await holder.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    const results: Promise<unknown>[] = [];
    let ended = 0;
    for (const request of requests as (() => Promise<unknown>)[]) {
      results.push(
        request()
          .catch(({ status }: ApiError) => ({ status }))
          .finally(() => {
            ended += 1;
          }),
      );
      const waiting = async () =>
        (
          await hub.database.query<{ n: number }>(
            `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
        )[0]?.n as number;
      await expect.poll(async () => ended + (await waiting()), { timeout: 10_000 }).toBe(results.length);
    }
    await holder.query('COMMIT');
    return (await Promise.all(results)) as never;
  } finally {
    await holder.end();
  }
}

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
    const [created, removed] = await duringWriteLock('api_tokens', [create, remove]);
    expect(removed).toMatchObject({ keys: [{ id: (created as { id: string }).id, revoked: true }] });
    expect(await works((created as { key: string }).key)).toBe(false);
  });

  test('that the member creates during the removal', async () => {
    const { create, remove, session, tenantId } = await secondAdmin();
    const first = await create();
    const [removed, created] = await duringWriteLock('api_tokens', [remove, create]);
    expect(removed).toMatchObject({ keys: [{ id: first.id, revoked: true }] });
    expect(created).toEqual({ status: 401 });
    const { data } = await session.call('listApiTokens', { params: { tenantId } });
    expect(data.filter(({ name }) => name === 'made meanwhile')).toEqual([]);
  });

  test('that the member creates during the loss of the role admin', async () => {
    const { create, session, tenantId, id } = await secondAdmin();
    const demote = () => session.call('changeMember', { params: { tenantId, userId: id }, body: { role: 'agent' } });
    const [demoted, created] = await duringWriteLock('audit_log', [demote, create]);
    expect(demoted).toMatchObject({ role: 'agent' });
    expect(created).toEqual({ status: 403 });
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
    const [signedIn, changed] = await duringWriteLock('sign_in_addresses', [logIn, change]);
    expect(changed).toEqual({ changed: true });
    expect(await isSignedIn((signedIn as { token: string }).token)).toBe(false);
  });

  test('of a sign-in that is verified during the change', async () => {
    const { logIn, change } = await member();
    const [changed, signedIn] = await duringWriteLock('password_resets', [change, logIn]);
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
    const [signedIn, changed] = await duringWriteLock('sign_in_addresses', [redeem, change]);
    expect(changed).toEqual({ changed: true });
    expect(await isSignedIn((signedIn as { token: string }).token)).toBe(false);
  });
});
