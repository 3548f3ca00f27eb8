import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { expireInvitations } from '../fixtures/stage/core.ts';

const password = 'an entirely new passphrase';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
});
afterAll(() => hub[Symbol.asyncDispose]());

let count = 0;
const newEmail = () => `guest${(count += 1)}.${process.hrtime.bigint()}@example.org`;

async function invite({ session, tenantId }: TestWorkspace, email = newEmail(), role: 'admin' | 'agent' = 'agent') {
  const invitation = await session.call('inviteMember', { params: { tenantId }, body: { email, role } });
  return { ...invitation, code: new URL(invitation.url).searchParams.get('code') as string };
}

const accept = (code: string, displayName?: string) =>
  send(hub.url, 'POST', '/auth/invitation', {
    body: { code, password, ...(displayName === undefined ? {} : { displayName }) },
  });

const openInvitations = async ({ session, tenantId }: TestWorkspace) =>
  (await session.call('listInvitations', { params: { tenantId }, query: {} })).data;

/** Sends the form of the page behind an invitation, as a browser does. */
const join = (fields: Record<string, string>, origin = hub.url) =>
  fetch(`${hub.url}/join`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
    body: new URLSearchParams(fields).toString(),
  });

describe('An invitation', () => {
  test('creates one account with the invited address and role, signs it in, and is audited', async () => {
    const workspace = await hub.workspace();
    const { email, code, id } = await invite(workspace, newEmail(), 'admin');
    expect(await openInvitations(workspace)).toMatchObject([{ id, email, role: 'admin' }]);
    const { status, body } = await accept(code, 'Grace');
    expect(status).toBe(200);
    const { token } = body as { token: string };
    expect(await hub.client(token).call('readMe', {})).toMatchObject({
      tenantId: workspace.tenantId,
      user: { email, role: 'admin', displayName: 'Grace' },
    });
    expect((await hub.client().call('logIn', { body: { email, password } })).tenantId).toBe(workspace.tenantId);
    expect(await openInvitations(workspace)).toEqual([]);
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: {},
    });
    expect(data.map(({ action }) => action)).toEqual(expect.arrayContaining(['member.invited', 'member.joined']));
    expect(JSON.stringify(data)).not.toContain(code);
  });

  test('works once, also when it is accepted twice at the same time', async () => {
    const { code } = await invite(await hub.workspace());
    const answers = await Promise.all([accept(code), accept(code), accept(code)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401]);
    expect((await accept(code)).status).toBe(401);
  });

  test('is replaced by a later one of the same address, and refused after its expiry or revocation', async () => {
    const workspace = await hub.workspace();
    const { tenantId, session } = workspace;
    const email = newEmail();
    const first = await invite(workspace, email);
    const second = await invite(workspace, email, 'admin');
    expect(await openInvitations(workspace)).toMatchObject([{ id: second.id, role: 'admin' }]);
    expect((await accept(first.code)).status).toBe(401);
    await session.call('revokeInvitation', { params: { tenantId, id: second.id } });
    await expect(session.call('revokeInvitation', { params: { tenantId, id: second.id } })).rejects.toMatchObject({
      code: 'not_found',
    });
    const third = await invite(workspace, email);
    await expireInvitations(hub.database, tenantId);
    expect(await openInvitations(workspace)).toEqual([]);
    for (const { code } of [second, third]) expect((await accept(code)).status).toBe(401);
  });

  test('is refused when its admin was removed or became an agent', async () => {
    const workspace = await hub.workspace();
    const { tenantId, session } = workspace;
    for (const withdraw of [
      (userId: string) => session.call('removeMember', { params: { tenantId, userId }, query: {} }),
      (userId: string) => session.call('changeMember', { params: { tenantId, userId }, body: { role: 'agent' } }),
    ]) {
      const { body } = await accept((await invite(workspace, newEmail(), 'admin')).code);
      const { token, user } = body as { token: string; user: { id: string } };
      const invited = await hub
        .client(token)
        .call('inviteMember', { params: { tenantId }, body: { email: newEmail(), role: 'agent' } });
      await withdraw(user.id);
      expect((await accept(new URL(invited.url).searchParams.get('code') as string)).status).toBe(401);
      expect((await openInvitations(workspace)).map(({ id }) => id)).not.toContain(invited.id);
    }
  });

  test('is for admins of its own workspace only', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    const { id, code } = await invite(one);
    const foreign = { params: { tenantId: one.tenantId }, query: {} };
    await expect(other.session.call('listInvitations', foreign)).rejects.toMatchObject({ code: 'not_found' });
    expect(await openInvitations(other)).toEqual([]);
    for (const tenantId of [one.tenantId, other.tenantId])
      await expect(other.session.call('revokeInvitation', { params: { tenantId, id } })).rejects.toMatchObject({
        code: 'not_found',
      });
    const agent = hub.client(((await accept(code)).body as { token: string }).token);
    await expect(
      agent.call('inviteMember', { params: { tenantId: one.tenantId }, body: { email: newEmail(), role: 'admin' } }),
    ).rejects.toMatchObject({ code: 'role_required' });
  });

  test('is refused for an address that has an account', async () => {
    const { email } = await hub.workspace();
    await expect(invite(await hub.workspace(), email.toUpperCase())).rejects.toMatchObject({ code: 'email_taken' });
  });

  test('of a person who has got an account meanwhile is refused and stays open', async () => {
    const workspace = await hub.workspace();
    const { email, code } = await invite(workspace);
    await hub.client().call('signUp', { body: { email, password, workspaceName: `own ${email}` } });
    expect((await accept(code)).body).toMatchObject({ code: 'email_taken' });
    expect(await openInvitations(workspace)).toMatchObject([{ email }]);
  });

  test('has a page that shows workspace and address, keeps the name after an error, and signs the browser in', async () => {
    const workspace = await hub.workspace('Ben & <b>Co</b> ' + newEmail());
    const { email, url, code } = await invite(workspace);
    const page = await (await fetch(url)).text();
    expect(page).toContain(email);
    expect(page).toContain('Ben &amp; &lt;b&gt;Co');
    const wrong = await join({ code, name: 'Grace', password, repeated: 'another passphrase' });
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toMatch(/role="alert"[^]*value="Grace"/);
    expect(
      (await join({ code, name: 'Grace', password, repeated: password }, 'https://elsewhere.example')).status,
    ).toBe(403);
    const joined = await join({ code, name: 'Grace', password, repeated: password });
    expect([joined.status, joined.headers.get('location')]).toEqual([303, '/app']);
    const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? '';
    expect(await (await fetch(`${hub.url}/auth/me`, { headers: { cookie } })).json()).toMatchObject({
      user: { email, displayName: 'Grace' },
    });
    const used = await fetch(url);
    expect([used.status, await used.text()]).toEqual([401, expect.stringContaining('Ask an admin')]);
  });
});
