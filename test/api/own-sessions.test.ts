import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let second: TestHub;
beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
  second = await startHub({}, hub.database);
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

/** Signs in once more, as the browser `client`. */
async function signIn({ email, password }: TestWorkspace, client: string): Promise<string> {
  const { body } = await send(hub.url, 'POST', '/auth/login', {
    body: { email, password },
    headers: { 'user-agent': client },
  });
  return (body as { token: string }).token;
}

const statusOf = async (token: string, url: string) =>
  (await send(url, 'GET', '/auth/me', { headers: { authorization: `Bearer ${token}` } })).status;

describe('The sessions of a user', () => {
  test('are listed with their browser, and each can be ended, on every process', async () => {
    const workspace = await hub.workspace();
    const phone = await signIn(workspace, `Phone ${'x'.repeat(400)}`);
    const { data } = await workspace.session.call('listOwnSessions', { query: {} });
    expect(data.map(({ client, isCurrent }) => [client?.slice(0, 6), client?.length, isCurrent])).toEqual([
      ['Phone ', 300, false],
      [data[1]?.client?.slice(0, 6), data[1]?.client?.length, true],
    ]);
    const { id = '' } = data[0] ?? {};
    expect(await statusOf(phone, second.url)).toBe(200);
    await workspace.session.call('endOwnSession', { params: { id } });
    for (const { url } of [hub, second]) expect(await statusOf(phone, url)).toBe(401);
    await expect(workspace.session.call('endOwnSession', { params: { id } })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await workspace.session.call('listOwnSessions', { query: {} })).data).toHaveLength(1);
  });

  test('end all but the current one', async () => {
    const workspace = await hub.workspace();
    const tokens = [await signIn(workspace, 'one'), await signIn(workspace, 'two')];
    expect(await workspace.session.call('endOtherOwnSessions', {})).toEqual({ ended: 2 });
    for (const token of tokens) for (const { url } of [hub, second]) expect(await statusOf(token, url)).toBe(401);
    expect(await statusOf(workspace.jwt, second.url)).toBe(200);
  });

  test('of other people can be neither seen nor ended, also not by an admin', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const { tenantId } = one;
    const email = `agent.${process.hrtime.bigint()}@example.org`;
    await one.session.call('addMember', {
      params: { tenantId },
      body: { email, password: one.password, role: 'agent' },
    });
    const agent = hub.client((await hub.client().call('logIn', { body: { email, password: one.password } })).token);
    const [own] = (await agent.call('listOwnSessions', { query: {} })).data;
    for (const { session } of [one, other]) {
      await expect(session.call('endOwnSession', { params: { id: own?.id ?? '' } })).rejects.toMatchObject({
        code: 'not_found',
      });
      expect((await session.call('listOwnSessions', { query: {} })).data).toHaveLength(1);
      await session.call('endOtherOwnSessions', {});
    }
    expect((await agent.call('readMe', {})).user.email).toBe(email);
  });
});

describe('The profile of a user', () => {
  test('keeps preferences, which change one at a time', async () => {
    const { session } = await hub.workspace();
    expect((await session.call('readMe', {})).user.preferences).toEqual({ language: null, enterSends: false });
    await session.call('updateMe', { body: { preferences: { language: 'de' } } });
    const { user } = await session.call('updateMe', { body: { preferences: { enterSends: true } } });
    expect(user).toMatchObject({ displayName: null, preferences: { language: 'de', enterSends: true } });
    await session.call('updateMe', { body: { displayName: 'Ada' } });
    expect((await session.call('readMe', {})).user).toMatchObject({
      displayName: 'Ada',
      preferences: { language: 'de', enterSends: true },
    });
    await expect(session.call('updateMe', { body: {} })).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('A workspace', () => {
  test('is renamed by its admins, to a name that is free', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const name = `Renamed ${process.hrtime.bigint()}`;
    const { tenantId } = one;
    expect(await one.session.call('renameWorkspace', { params: { tenantId }, body: { name } })).toEqual({
      id: tenantId,
      name,
    });
    expect((await second.client(one.jwt).call('readMe', {})).workspaceName).toBe(name);
    await expect(
      other.session.call('renameWorkspace', {
        params: { tenantId: other.tenantId },
        body: { name: name.toUpperCase() },
      }),
    ).rejects.toMatchObject({ code: 'workspace_name_taken', details: [{ path: 'body.name' }] });
    await expect(
      other.session.call('renameWorkspace', { params: { tenantId }, body: { name: 'Mine now' } }),
    ).rejects.toMatchObject({ code: 'not_found' });
    const { data } = await one.session.call('listAuditLog', { params: { tenantId }, query: {} });
    expect(data[0]).toMatchObject({ action: 'workspace.renamed', details: { to: name } });
  });
});
