import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defaultChatSettings } from '../../shared/contract/chat/settings.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let tenantId: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' }, undefined, { workspaceLimits: { cannedReply: 3 } });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
  ({ tenantId } = workspace);
});

async function agentOf(own: TestWorkspace) {
  const email = `agent.${process.hrtime.bigint()}@example.org`;
  const password = 'correct horse battery';
  await own.session.call('addMember', {
    params: { tenantId: own.tenantId },
    body: { email, password, role: 'agent' },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return { email, token, client: hub.client(token) };
}
const request = (method: string, path: string, token: string | null, body?: unknown, tenant = tenantId) =>
  send(hub.url, method, `/tenants/${tenant}/chat/${path}`, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
  });
const params = () => ({ tenantId });

describe('the chat settings', () => {
  test('have defaults until they are set, with a constant site key and the script tag', async () => {
    const shown = await workspace.session.call('getChatSettings', { params: params() });
    expect(shown).toEqual({
      ...defaultChatSettings,
      siteKey: expect.stringMatching(/^wgt_[\w-]{24}$/) as string,
      snippet: `<script async src="${hub.url}/widget.js" data-site-key="${shown.siteKey}"></script>`,
      updatedAt: null,
    });
    expect(await workspace.session.call('getChatSettings', { params: params() })).toEqual(shown);
    const { siteKey } = await hub
      .client(workspace.keys.chat)
      .call('createChatSession', { body: { externalId: 'somebody' } });
    expect(siteKey).toBe(shown.siteKey);
  });

  test('are updated field by field, also concurrently, and omitted fields keep their values', async () => {
    const put = (body: object) => workspace.session.call('putChatSettings', { params: params(), body });
    await Promise.all([
      put({ title: 'Hello' }),
      put({ greeting: 'Hi' }),
      put({ retentionDays: 30 }),
      put({ locale: 'de' }),
    ]);
    const businessHours = {
      timeZone: 'Europe/Berlin',
      periods: [{ day: 'monday', from: '09:00', to: '17:00' }] as const,
      awayMessage: 'Back on Monday',
    };
    const saved = await put({ businessHours, locale: null, allowedOrigins: ['https://shop.example.org'] });
    expect(saved).toMatchObject({
      title: 'Hello',
      greeting: 'Hi',
      retentionDays: 30,
      locale: null,
      businessHours,
      allowedOrigins: ['https://shop.example.org'],
      colour: defaultChatSettings.colour,
    });
    expect(saved.updatedAt).not.toBeNull();
    expect(await workspace.session.call('getChatSettings', { params: params() })).toEqual(saved);
  });

  test('name the missing or wrong field of preChat, and what it accepts', async () => {
    for (const [preChat, path, message] of [
      [{ name: 'off' }, 'body.preChat.email', 'is missing: send name and email, each "off", "optional" or "required"'],
      [{ name: 'maybe', email: 'off' }, 'body.preChat.name', 'must be "off", "optional" or "required"'],
    ] as const) {
      const { status, body } = await request('PUT', 'settings', workspace.jwt, { preChat });
      expect([status, body['details']]).toEqual([400, [{ path, message }]]);
    }
  });

  test('are recorded in the audit log with the names of the changed fields and without their values', async () => {
    await workspace.session.call('putChatSettings', { params: params(), body: { greeting: 'a private word' } });
    const { data } = await workspace.session.call('listAuditLog', {
      params: params(),
      query: { targetType: 'chat_settings' },
    });
    expect(data).toMatchObject([{ action: 'chat_settings.updated', details: { changed: ['greeting'] } }]);
    expect(JSON.stringify(data)).not.toContain('private word');
  });

  test.each([
    [{ title: '' }, 'body.title'],
    [{ colour: 'red' }, 'body.colour'],
    [{ allowedOrigins: ['https://shop.example.org/path'] }, 'body.allowedOrigins[0]'],
    [{ retentionDays: 0 }, 'body.retentionDays'],
    [{ businessHours: { timeZone: 'Mars/Base', periods: [], awayMessage: '' } }, 'body.businessHours.timeZone'],
    [{ siteKey: 'wgt_mine' }, 'siteKey'],
  ])('reject %j and name %s', async (body, path) => {
    const answer = await request('PUT', 'settings', workspace.jwt, body);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(path);
  });

  test('are read by agents and updated by admins of their workspace only', async () => {
    const agent = await agentOf(workspace);
    const otherWorkspace = await hub.workspace();
    expect((await request('GET', 'settings', agent.token)).status).toBe(200);
    expect((await request('PUT', 'settings', agent.token, { title: 'x' })).body).toMatchObject({
      statusCode: 403,
      code: 'role_required',
    });
    for (const method of ['GET', 'PUT']) {
      const body = method === 'PUT' ? { title: 'x' } : undefined;
      expect((await request(method, 'settings', null, body)).status).toBe(401);
      expect((await request(method, 'settings', otherWorkspace.jwt, body)).status).toBe(404);
    }
    const own = await workspace.session.call('getChatSettings', { params: params() });
    expect(own.title).toBe(defaultChatSettings.title);
  });
});

describe('canned replies', () => {
  const create = (shortcut: string, content: string, own = workspace) =>
    own.session.call('createCannedReply', { params: { tenantId: own.tenantId }, body: { shortcut, content } });
  const list = (query: object = {}, client = workspace.session) =>
    client.call('listCannedReplies', { params: params(), query });

  test('are created, found by shortcut or content, updated and deleted', async () => {
    const hello = await create('hello', 'Good morning');
    const bye = await create('bye', '100% done_');
    expect((await list()).data.map(({ id }) => id)).toEqual([bye.id, hello.id]);
    expect((await list({ limit: 1 })).data).toEqual([bye]);
    expect((await list({ q: 'MORNING' })).data).toEqual([hello]);
    expect((await list({ q: 'hel' })).data).toEqual([hello]);
    expect((await list({ q: '0%' })).data).toEqual([bye]);
    expect((await list({ q: '%' })).data).toEqual([bye]);
    const at = { tenantId, id: hello.id };
    const changed = await workspace.session.call('updateCannedReply', {
      params: at,
      body: { content: 'Good evening' },
    });
    expect(changed).toMatchObject({ shortcut: 'hello', content: 'Good evening' });
    expect(await workspace.session.call('deleteCannedReply', { params: at })).toEqual({ id: hello.id, deleted: true });
    expect((await list()).data).toEqual([bye]);
    expect((await request('DELETE', `canned-replies/${hello.id}`, workspace.jwt)).status).toBe(404);
    expect((await request('PATCH', `canned-replies/${hello.id}`, workspace.jwt, { content: 'x' })).status).toBe(404);
  });

  test('have unique shortcuts in a workspace; a used one is named', async () => {
    await create('same', 'one');
    const second = await create('other', 'two');
    const conflict = { statusCode: 409, code: 'conflict', details: [{ path: 'body.shortcut' }] };
    expect(
      (await request('POST', 'canned-replies', workspace.jwt, { shortcut: 'same', content: 'x' })).body,
    ).toMatchObject(conflict);
    expect(
      (await request('PATCH', `canned-replies/${second.id}`, workspace.jwt, { shortcut: 'same' })).body,
    ).toMatchObject(conflict);
    expect(await create('same', 'in another', await hub.workspace())).toMatchObject({ shortcut: 'same' });
  });

  test('are limited in number per workspace', async () => {
    for (const shortcut of ['a', 'b', 'c']) await create(shortcut, 'x');
    expect(
      (await request('POST', 'canned-replies', workspace.jwt, { shortcut: 'd', content: 'x' })).body,
    ).toMatchObject({ statusCode: 409, code: 'workspace_limit_reached' });
    expect((await list()).data).toHaveLength(3);
  });

  test('replace variables in one pass, so variables inside values stay as text; unknown values use the fallback', async () => {
    const { id: conversationId } = await hub.client(workspace.keys.chat).call('createChatConversation', {
      body: {
        name: 'Order {{agent.email}}',
        visitor: {
          externalId: 'ann',
          displayName: '{{visitor.email}}',
          attributes: { plan: 'pro', seats: 3, paid: true, deep: { a: 1 }, __proto__x: 'own' },
        },
      },
    });
    const agent = await agentOf(workspace);
    await agent.client.call('updateMe', { body: { displayName: 'Ann B.' } });
    await create(
      'all',
      'Hi {{visitor.name|there}} <{{ visitor.email | none }}>, {{visitor.attributes.plan}}/{{visitor.attributes.seats}}/{{visitor.attributes.paid}}' +
        '/{{visitor.attributes.deep|?}}/{{visitor.attributes.toString|?}}/{{visitor.attributes.no}}. {{conversation.name}}, {{agent.name}} {{agent.email}}. {{{{visitor.name}}}}',
    );
    const [filled] = (await list({ conversationId }, agent.client)).data;
    expect(filled?.content).toBe(
      `Hi {{visitor.email}} < none >, pro/3/true/?/?/. Order {{agent.email}}, Ann B. ${agent.email}. {{{{visitor.email}}}}`,
    );
    const [plain] = (await list()).data;
    expect(plain?.content).toContain('{{visitor.name|there}}');
  });

  test('are rejected with an unknown variable, which a visitor would see', async () => {
    for (const content of ['Hello {{visitor.nme|there}}', '{{}}', '{{visitor.attributes.}}'])
      await expect(create('wrong', content)).rejects.toMatchObject({
        status: 400,
        details: [{ path: 'body.content', message: expect.stringContaining('visitor.name') as string }],
      });
  });

  test('are at most as long as a message after they are filled in', async () => {
    const { id: conversationId } = await hub.client(workspace.keys.chat).call('createChatConversation', {
      body: { name: 'x', visitor: { externalId: 'long', attributes: { long: '😀'.repeat(3_000) } } },
    });
    await create('much', '{{visitor.attributes.long}}'.repeat(300));
    const [filled] = (await list({ conversationId })).data;
    expect([...(filled?.content ?? '')]).toHaveLength(10_000);
  });

  test.each([
    [{ shortcut: 'Upper', content: 'x' }, 'body.shortcut'],
    [{ shortcut: 'x', content: '' }, 'body.content'],
    [{ shortcut: 'x', content: '😀'.repeat(10_001) }, 'body.content'],
  ])('reject %j and name %s', async (body, path) => {
    const answer = await request('POST', 'canned-replies', workspace.jwt, body);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(path);
  });

  test('require an agent of their workspace', async () => {
    const reply = await create('own', 'x');
    const otherWorkspace = await hub.workspace();
    const theirs = (
      await hub.client(otherWorkspace.keys.chat).call('createChatConversation', { body: { name: 'theirs' } })
    ).id;
    expect((await request('GET', `canned-replies?conversationId=${theirs}`, workspace.jwt)).status).toBe(404);
    const one = `canned-replies/${reply.id}`;
    for (const [method, path, body] of [
      ['GET', 'canned-replies', undefined],
      ['POST', 'canned-replies', { shortcut: 'x', content: 'x' }],
      ['PATCH', one, { content: 'x' }],
      ['DELETE', one, undefined],
    ] as const) {
      expect((await request(method, path, null, body)).status).toBe(401);
      expect((await request(method, path, otherWorkspace.jwt, body)).status).toBe(404);
      if (path === one)
        expect((await request(method, path, otherWorkspace.jwt, body, otherWorkspace.tenantId)).status).toBe(404);
    }
    expect((await list()).data).toEqual([reply]);
  });
});
