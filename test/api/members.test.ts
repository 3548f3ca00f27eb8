import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { ageSignInAddresses } from '../fixtures/stage/core.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const password = 'correct horse battery';

async function join(role: 'admin' | 'agent' = 'agent') {
  const email = `member.${process.hrtime.bigint()}@example.org`;
  const { id } = await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password, role },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return { id, email, token, client: hub.client(token) };
}

const list = (token: string, query = '', tenantId = workspace.tenantId) =>
  send(hub.url, 'GET', `/tenants/${tenantId}/members${query}`, { headers: { authorization: `Bearer ${token}` } });
const remove = (token: string, userId: string, query = '', tenantId = workspace.tenantId) =>
  send(hub.url, 'DELETE', `/tenants/${tenantId}/members/${userId}${query}`, {
    headers: { authorization: `Bearer ${token}` },
  });
const ownId = async () => (await workspace.session.call('readMe', {})).user.id;

describe('the members of a workspace', () => {
  test('are listed in pages, newest first, without members of another workspace', async () => {
    const members = [await join(), await join('admin')];
    await hub.workspace();
    const ids = [members[1]?.id, members[0]?.id, await ownId()];
    const first = await workspace.session.call('listMembers', {
      params: { tenantId: workspace.tenantId },
      query: { limit: 2 },
    });
    const second = await workspace.session.call('listMembers', {
      params: { tenantId: workspace.tenantId },
      query: { limit: 2, cursor: first.meta.nextCursor as string },
    });
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids);
    expect(second.meta.nextCursor).toBeNull();
    expect(first.data[0]).toMatchObject({ email: members[1]?.email, role: 'admin' });
    expect(JSON.stringify([first, second])).not.toMatch(/password|hash/i);
  });

  test('see each other; only admins see the last sign-in', async () => {
    const before = Date.now() - 1_000;
    const { token, id } = await join();
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email: `never.${process.hrtime.bigint()}@example.org`, password },
    });
    const seen = (await list(token)).body as unknown as { data: { id: string }[] };
    expect(seen.data).toHaveLength(3);
    for (const member of seen.data) expect(member).not.toHaveProperty('lastSignInAt');
    const { data } = await workspace.session.call('listMembers', { params: { tenantId: workspace.tenantId } });
    expect(data[0]?.lastSignInAt).toBeNull();
    expect(Date.parse(data.find((member) => member.id === id)?.lastSignInAt as string)).toBeGreaterThan(before);
    // A sign-in from a known address is recorded once a day. The last sign-in comes from the session.
    await ageSignInAddresses(hub.database, id, { hours: 20 });
    const { data: again } = await workspace.session.call('listMembers', { params: { tenantId: workspace.tenantId } });
    expect(Date.parse(again.find((member) => member.id === id)?.lastSignInAt as string)).toBeGreaterThan(before);
  });

  test('cannot be listed by an unauthenticated caller, a key, or another workspace', async () => {
    const other = await hub.workspace();
    expect((await list('none')).status).toBe(401);
    expect((await list(workspace.key)).status).toBe(401);
    expect((await list(other.jwt)).status).toBe(404);
    expect((await list(workspace.jwt, '?limit=0')).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'query.limit' }],
    });
    const own = await list(other.jwt, '?limit=1', other.tenantId);
    expect(own.status).toBe(200);
    expect((await list(workspace.jwt, '?cursor=AAAA')).body.code).toBe('invalid_cursor');
  });
});

describe('a member who is removed', () => {
  test('is signed out immediately, loses live streams, and appears in the audit log', async () => {
    const { id, email, token, client } = await join();
    const stream = await fetch(`${hub.url}/v1/automations/logs/live`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(60_000),
    });
    expect(stream.status).toBe(200);
    const answer = await remove(workspace.jwt, id);
    expect(answer).toMatchObject({ status: 200, body: { id, deleted: true, keys: [] } });
    expect(await stream.text()).toMatch(/event: end\ndata: \{"type":"end","code":"unauthenticated"/);
    await expect(client.call('readMe', {})).rejects.toMatchObject({ status: 401 });
    await expect(hub.client().call('logIn', { body: { email, password } })).rejects.toMatchObject({ status: 401 });
    expect((await remove(workspace.jwt, id)).status).toBe(404);
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: id },
    });
    expect(data[0]).toMatchObject({
      action: 'member.removed',
      actor: `user:${await ownId()}`,
      details: { email, role: 'agent', keys: [] },
    });
  });

  test.each([false, true])('leaves keys that are listed, and revoked on request: %s', async (revokeKeys) => {
    const { id, client } = await join('admin');
    const theirs = await client.call('createApiToken', {
      params: { tenantId: workspace.tenantId },
      body: { name: 'theirs', product: 'automations', permissions: ['automations:manage'] },
    });
    const { body } = await remove(workspace.jwt, id, revokeKeys ? '?revokeKeys=true' : '');
    expect(body).toMatchObject({ keys: [{ id: theirs.id, name: 'theirs', revoked: revokeKeys }] });
    expect(JSON.stringify(body)).not.toContain(theirs.key);
    const used = await send(hub.url, 'GET', '/v1/automations/runs', { headers: { 'x-api-key': theirs.key } });
    expect(used.status).toBe(revokeKeys ? 401 : 200);
  });

  test('cannot be the last admin; members can remove themselves while another admin exists', async () => {
    await join();
    const me = await ownId();
    expect((await remove(workspace.jwt, me)).body).toMatchObject({ statusCode: 409, code: 'conflict' });
    await workspace.session.call('readMe', {});
    const other = await join('admin');
    expect((await remove(workspace.jwt, me)).status).toBe(200);
    expect((await list(workspace.jwt)).status).toBe(401);
    expect((await remove(other.token, other.id)).body.code).toBe('conflict');
  });

  test('can be removed only by an admin of the workspace', async () => {
    const { id, token } = await join();
    const other = await hub.workspace();
    expect((await remove('none', id)).status).toBe(401);
    expect((await remove(workspace.key, id)).status).toBe(401);
    expect((await remove(token, id)).body).toMatchObject({ statusCode: 403, code: 'role_required' });
    expect((await remove(other.jwt, id)).status).toBe(404);
    expect((await remove(other.jwt, id, '', other.tenantId)).status).toBe(404);
    expect((await remove(workspace.jwt, missingId)).status).toBe(404);
    expect((await remove(workspace.jwt, 'nobody')).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'params.userId' }],
    });
    expect((await remove(workspace.jwt, id, '?revokeKeys=yes')).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'query.revokeKeys', message: 'must be true or false' }],
    });
    expect((await list(token)).status).toBe(200);
  });
});

describe('the role of a member', () => {
  const setRole = (userId: string, role: 'admin' | 'agent', token = workspace.jwt, tenantId = workspace.tenantId) =>
    send(hub.url, 'PATCH', `/tenants/${tenantId}/members/${userId}`, {
      headers: { authorization: `Bearer ${token}` },
      body: { role },
    });

  test('is changed immediately by an admin, on every process and for open sessions', async () => {
    await using second = await startHub({}, hub.database);
    const member = await join();
    const audit = () =>
      second.client(member.token).call('listAuditLog', { params: { tenantId: workspace.tenantId }, query: {} });
    await expect(audit()).rejects.toMatchObject({ status: 403, code: 'role_required' });
    expect((await setRole(member.id, 'admin')).body).toMatchObject({ id: member.id, role: 'admin' });
    expect((await audit()).data[0]).toMatchObject({
      action: 'member.role_changed',
      targetId: member.id,
      details: { email: member.email, from: 'agent', to: 'admin' },
    });
    expect((await setRole(member.id, 'agent')).status).toBe(200);
    await expect(audit()).rejects.toMatchObject({ status: 403, code: 'role_required' });
  });

  test('stays admin for the last admin, also when two give up the role concurrently', async () => {
    const own = await ownId();
    expect(await setRole(own, 'agent')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const member = await join('admin');
    const answers = await Promise.all([setRole(own, 'agent', member.token), setRole(member.id, 'agent')]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    const { data } = await member.client.call('listMembers', { params: { tenantId: workspace.tenantId }, query: {} });
    expect(data.filter(({ role }) => role === 'admin')).toHaveLength(1);
  });

  test('cannot be changed by an agent, or for a member of another workspace', async () => {
    const member = await join();
    expect((await setRole(member.id, 'admin', member.token)).status).toBe(403);
    const other = await hub.workspace();
    expect((await setRole(member.id, 'admin', other.jwt, other.tenantId)).status).toBe(404);
    expect((await setRole(missingId, 'admin')).status).toBe(404);
  });
});

describe('the password of a signed-in user', () => {
  const change = (token: string, currentPassword: string, newPassword: string) =>
    send(hub.url, 'POST', '/auth/password', {
      headers: { authorization: `Bearer ${token}` },
      body: { currentPassword, newPassword },
    });

  test('is changed with the current password, which ends all other sessions and is recorded in the audit log', async () => {
    const member = await join();
    const { token: elsewhere } = await hub.client().call('logIn', { body: { email: member.email, password } });
    const next = 'another horse battery';
    expect((await change(member.token, 'a wrong password', next)).body).toMatchObject({ code: 'invalid_credentials' });
    expect((await change(member.token, password, 'short')).status).toBe(400);
    expect(await change(member.token, password, next)).toMatchObject({ status: 200, body: { changed: true } });
    await expect(hub.client(elsewhere).call('readMe', {})).rejects.toMatchObject({ status: 401 });
    expect((await member.client.call('readMe', {})).user.id).toBe(member.id);
    const signIn = (given: string) => hub.client().call('logIn', { body: { email: member.email, password: given } });
    await expect(signIn(password)).rejects.toMatchObject({ status: 401 });
    await signIn(next);
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: member.id },
    });
    expect(data[0]).toMatchObject({ action: 'member.password_changed', actor: `user:${member.id}` });
    expect(JSON.stringify(data)).not.toContain('horse');
  });

  test('cannot be guessed with a session: wrong passwords count as failed sign-ins', async () => {
    await using strict = await startHub(
      { SIGN_IN_RATE_LIMIT_PER_MINUTE: '5', TRUSTED_PROXIES: '127.0.0.1' },
      hub.database,
    );
    const member = await join();
    const statuses: number[] = [];
    // A new window can begin meanwhile, so more than twice as many as one allows.
    for (let attempt = 0; attempt < 11 && statuses.at(-1) !== 429; attempt += 1)
      statuses.push(
        (
          await send(strict.url, 'POST', '/auth/password', {
            // Other tests have used up a part of the limit of the address of this machine.
            headers: { authorization: `Bearer ${member.token}`, 'x-forwarded-for': '198.51.100.61' },
            body: { currentPassword: `guess number ${attempt}`, newPassword: 'another horse battery' },
          })
        ).status,
      );
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeGreaterThan(5);
  });
});
