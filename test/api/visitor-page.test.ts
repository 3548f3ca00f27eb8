import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PostgresEvents } from '../../hub/platform/events/postgres-events.ts';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { testSecrets } from '../fixtures/secrets.ts';
import { ageClosing, ageRatings, expireLinks, expireVisitorSessions } from '../fixtures/stage/chat.ts';
import { clearRateLimits, setEntitlement } from '../fixtures/stage/core.ts';
import { chatScene, expectRefused, sendFile } from '../fixtures/visitor.ts';
import type { ChatScene, TestVisitor } from '../fixtures/visitor.ts';

let hub: TestHub;
let scene: ChatScene;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' });
  scene = await chatScene(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

// Resets the limit per address and minute for opening the chat.
const forgetLimits = () => clearRateLimits(hub.database);

const open = (siteKey: string, body: { token?: string; name?: string; email?: string } = {}) =>
  hub.client().call('openVisitorSession', { body: { siteKey, ...body } });
const write = (visitor: TestVisitor, content: string, clientId = content) =>
  visitor.api.call('sendVisitorMessage', { body: { content, clientId } });
const entitle = (tenantId: string, value: boolean) =>
  setEntitlement(hub.database, tenantId, 'conversations_suite', value);

describe('the page of a site key', () => {
  test('shows the settings of the workspace, and nothing that visitors must not see', async () => {
    const own = await chatScene(hub);
    await own.set({ title: 'Ask us', allowedOrigins: ['https://secret.example.org'], colour: '#112233' });
    const page = await hub.client().call('getChatPage', { query: { siteKey: own.siteKey } });
    expect(page).toEqual({
      title: 'Ask us',
      greeting: null,
      colour: '#112233',
      locale: null,
      allowAnonymous: false,
      preChat: { name: 'optional', email: 'optional' },
      ratings: true,
      open: true,
      awayMessage: '',
    });
  });

  test('shows the text of the workspace outside its business hours', async () => {
    const own = await chatScene(hub);
    await own.set({ businessHours: { timeZone: 'Europe/Berlin', periods: [], awayMessage: 'Back on Monday.' } });
    expect(await hub.client().call('getChatPage', { query: { siteKey: own.siteKey } })).toMatchObject({
      open: false,
      awayMessage: 'Back on Monday.',
    });
  });

  test('is not found for an unknown key, and requires a key', async () => {
    await expectRefused(hub.client().call('getChatPage', { query: { siteKey: 'wgt_made_up' } }), 404, 'not_found');
    expect((await send(hub.url, 'GET', '/widget/v1/page')).body.details).toMatchObject([{ path: 'query.siteKey' }]);
  });

  test('is rejected for a workspace without the entitlement', async () => {
    const own = await chatScene(hub);
    await entitle(own.tenantId, false);
    await expectRefused(
      hub.client().call('getChatPage', { query: { siteKey: own.siteKey } }),
      403,
      'product_not_entitled',
    );
  });
});

describe('a link token', () => {
  test('opens its conversation, in a session whose token is stored only as a hash', async () => {
    const { token, conversationId } = await scene.mint();
    const answer = await send(hub.url, 'POST', '/widget/v1/token', { body: { siteKey: scene.siteKey, token } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body['conversation']).toMatchObject({
      id: conversationId,
      status: 'open',
      lastSeq: 0,
      agentName: null,
      agentOnline: false,
      rating: null,
      ratingOffered: false,
    });
    const stored = await hub.database.query('SELECT * FROM chat_sessions');
    expect(JSON.stringify(stored)).not.toContain(answer.body['token'] as string);
    expect(await hub.client(answer.body['token'] as string).call('getVisitorConversation')).toMatchObject({
      id: conversationId,
    });
  });

  test('that is expired, changed, foreign, revoked or of another site key opens nothing and creates no anonymous visitor', async () => {
    const own = await chatScene(hub);
    await own.set({ allowAnonymous: true });
    const { token, conversationId } = await own.mint('ann');
    const count = async () =>
      await hub.database.query(
        'SELECT (SELECT count(*)::int FROM chat_visitors) AS visitors, (SELECT count(*)::int FROM chat_sessions) AS sessions',
      );
    const before = await count();
    const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
    await expectRefused(open(own.siteKey, { token: changed }), 401, 'chat_token_invalid');
    await expectRefused(open('wgt_made_up', { token }), 401, 'chat_token_invalid');
    await expectRefused(open(scene.siteKey, { token }), 401, 'chat_token_invalid');
    await expireLinks(hub.database, { token });
    await expectRefused(open(own.siteKey, { token }), 401, 'chat_token_expired');
    await own.workspace.session.call('revokeInboxLinks', { params: { tenantId: own.tenantId, id: conversationId } });
    await expectRefused(open(own.siteKey, { token }), 401, 'chat_token_invalid');
    expect(await count()).toEqual(before);
  });

  test('counts towards a limit of its visitor, while rejected tokens count towards a limit of their address', async () => {
    await forgetLimits();
    // A separate process remembers which address is over its limit.
    await using office = await startHub({}, hub.database);
    const own = await chatScene(hub);
    const enter = async (token: string) =>
      (await send(office.url, 'POST', '/widget/v1/token', { body: { siteKey: own.siteKey, token } })).status;
    // The count of 120 a minute may start again in between.
    const untilRefused = async (token: string) => {
      const found: number[] = [];
      while (found.length < 300 && found.at(-1) !== 429) found.push(await enter(token));
      return found;
    };
    const [ann, ben] = [await own.mint('ann'), await own.mint('ben')];
    // Two visitors at one address together send more wrong tokens than one address may.
    const ofAnn = await untilRefused(ann.token);
    expect(ofAnn.length).toBeGreaterThan(120);
    expect(new Set(ofAnn)).toEqual(new Set([200, 429]));
    expect(await enter(ben.token)).toBe(200);
    const wrong = await untilRefused('made-up');
    expect(wrong.length).toBeGreaterThan(120);
    expect(new Set(wrong)).toEqual(new Set([401, 429]));
    await forgetLimits();
  });

  test("of a blocked visitor is rejected as blocked, like the visitor's sessions, until the visitor is unblocked", async () => {
    const own = await chatScene(hub);
    await own.set({ allowAnonymous: true });
    const { token } = await own.mint('bob');
    const nobody = await open(own.siteKey, { name: 'Nobody' });
    const known = await own.visitor('bob');
    const visitors = [
      known,
      { ...known, token: nobody.token, visitorId: nobody.visitorId, api: hub.client(nobody.token) },
    ];
    const params = ({ visitorId: id }: TestVisitor) => ({ tenantId: own.tenantId, id });
    for (const visitor of visitors) {
      await own.workspace.session.call('blockInboxVisitor', { params: params(visitor) });
      for (const call of [
        () => visitor.api.call('getVisitorConversation'),
        () => visitor.api.call('listVisitorMessages', { query: {} }),
        () => visitor.api.call('renewVisitorSession', {}),
        () => visitor.api.call('beginVisitorConversation'),
        () => write(visitor, 'hello'),
      ])
        await expectRefused(call(), 403, 'visitor_blocked');
    }
    await expectRefused(open(own.siteKey, { token }), 403, 'visitor_blocked');
    await expireVisitorSessions(hub.database, { visitorId: known.visitorId });
    await expectRefused(known.api.call('renewVisitorSession', {}), 403, 'visitor_blocked');
    for (const visitor of visitors)
      await own.workspace.session.call('unblockInboxVisitor', { params: params(visitor) });
    expect(await open(own.siteKey, { token })).toMatchObject({ visitorId: known.visitorId });
    expect(await hub.client(nobody.token).call('getVisitorConversation')).toMatchObject({
      id: nobody.conversation.id,
    });
    await expectRefused(known.api.call('getVisitorConversation'), 401, 'chat_token_expired');
  });

  test('of a workspace that lost its entitlement is rejected, like its existing session', async () => {
    const own = await chatScene(hub);
    const { token } = await own.mint('bob');
    const visitor = await own.visitor('bob');
    await entitle(own.tenantId, false);
    await expectRefused(open(own.siteKey, { token }), 403, 'product_not_entitled');
    await expectRefused(write(visitor, 'hello'), 403, 'product_not_entitled');
  });

  test.each([
    [{}, 'body.siteKey'],
    [{ siteKey: 'x', token: '' }, 'body.token'],
    [{ siteKey: 'x', email: 'no' }, 'body.email'],
    [{ siteKey: 'x', name: 'n'.repeat(201) }, 'body.name'],
    [{ siteKey: 'x', visitorId: 'mine' }, 'body.visitorId'],
  ])('in the invalid body %j is rejected with the field', async (body, path) => {
    const answer = await send(hub.url, 'POST', '/widget/v1/token', { body });
    expect(answer.status).toBe(400);
    expect(answer.body.details?.map((detail) => detail.path)).toContain(path);
  });

  test('stores the part of the address that the workspace setting keeps', async () => {
    const own = await chatScene(hub);
    const addressOf = async (id: string) =>
      (await hub.database.query('SELECT last_address FROM chat_visitors WHERE id = $1', [id]))[0];
    const first = await own.visitor();
    expect(await addressOf(first.visitorId)).toEqual({ last_address: '127.0.0.0' });
    await own.set({ keepAddresses: true });
    const second = await own.visitor();
    expect(await addressOf(second.visitorId)).toEqual({ last_address: '127.0.0.1' });
  });
});

describe('an anonymous visitor', () => {
  test('can start only if the workspace allows it', async () => {
    await expectRefused(open(scene.siteKey), 401, 'unauthenticated');
    await expectRefused(open('wgt_made_up'), 401, 'chat_token_invalid');
  });

  test('is a new, unverified visitor for each start with any email address, in a separate conversation', async () => {
    const own = await chatScene(hub);
    await own.set({ allowAnonymous: true });
    await own.api.call('createChatSession', { body: { externalId: 'ann', email: 'ann@example.org' } });
    const [first, second] = [
      await open(own.siteKey, { email: 'ann@example.org', name: 'Ann' }),
      await open(own.siteKey, { email: 'ann@example.org' }),
    ];
    expect(first.visitorId).not.toBe(second.visitorId);
    const { data } = await own.api.call('listChatVisitors', { query: {} });
    expect(data.find(({ id }) => id === first.visitorId)).toMatchObject({
      external_id: null,
      email: 'ann@example.org',
      display_name: 'Ann',
    });
    const detail = await own.workspace.session.call('getInboxConversation', {
      params: { tenantId: own.tenantId, id: first.conversation.id },
    });
    expect(detail).toMatchObject({ source: 'widget', visitorVerified: false, visitor: { verified: false } });
  });

  test('sends the fields of the form, and other fields are not stored', async () => {
    const own = await chatScene(hub);
    await own.set({ allowAnonymous: true, preChat: { name: 'off', email: 'required' } });
    await expectRefused(open(own.siteKey, { name: 'Ann' }), 400, 'validation_failed');
    const { visitorId } = await open(own.siteKey, { name: 'Ann', email: 'ann@example.org' });
    const [row] = await hub.database.query('SELECT display_name, email FROM chat_visitors WHERE id = $1', [visitorId]);
    expect(row).toEqual({ display_name: null, email: 'ann@example.org' });
  });

  test('is limited by address and site key, as the operator configures, and the log names TRUSTED_PROXIES once', async () => {
    await avoidPeriodEnd(60 * minuteMs);
    const logged: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
    const limits = { ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR: '5', ANONYMOUS_VISITORS_PER_WORKSPACE_PER_HOUR: '8' };
    await using limitedHub = await startHub({ ...limits, TRUSTED_PROXIES: '127.0.0.1' }, undefined, { logger });
    const [own, other] = [await chatScene(limitedHub), await chatScene(limitedHub)];
    await Promise.all([own.set({ allowAnonymous: true }), other.set({ allowAnonymous: true })]);
    const begin = (siteKey: string, address: string) =>
      send(limitedHub.url, 'POST', '/widget/v1/token', { headers: { 'x-forwarded-for': address }, body: { siteKey } });
    const answers = await Promise.all(Array.from({ length: 7 }, () => begin(own.siteKey, '203.0.113.1')));
    const limited = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(limited).toHaveLength(2);
    expect(Number(limited[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await begin(other.siteKey, '203.0.113.1')).status).toBe(200);
    expect(logged.filter((line) => line.includes('TRUSTED_PROXIES'))).toHaveLength(1);
    // Counts the requests from all addresses.
    const later: number[] = [];
    for (let n = 2; n < 6; n += 1) later.push((await begin(own.siteKey, `203.0.113.${n}`)).status);
    expect(later).toEqual([200, 200, 200, 429]);
  });
});

describe('a session', () => {
  test('is renewed by a new session, and stays valid for at most a minute more', async () => {
    await forgetLimits();
    const visitor = await scene.visitor();
    const renewed = await visitor.api.call('renewVisitorSession');
    expect(renewed).toMatchObject({ visitorId: visitor.visitorId, conversation: { id: visitor.conversationId } });
    expect(renewed.token).not.toBe(visitor.token);
    await visitor.api.call('getVisitorConversation');
    const [left] = await hub.database.query(
      "SELECT expires_at <= now() + interval '60 seconds' AS is_short FROM chat_sessions WHERE token_hash = $1",
      [createHash('sha256').update(visitor.token).digest()],
    );
    expect(left).toEqual({ is_short: true });
    await expireVisitorSessions(hub.database, { token: visitor.token });
    await expectRefused(visitor.api.call('renewVisitorSession'), 401, 'chat_token_expired');
    await hub.client(renewed.token).call('getVisitorConversation');
  });

  test('ends when its visitor ends it, and other sessions continue', async () => {
    const visitor = await scene.visitor('two tabs');
    const tab = await scene.visitor('two tabs');
    expect(await visitor.api.call('endVisitorSession')).toEqual({ ended: true });
    await expectRefused(visitor.api.call('getVisitorConversation'), 401, 'chat_token_invalid');
    await tab.api.call('getVisitorConversation');
  });

  test('that is revoked also ends the sessions that renewed it, even if both happen concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const visitor = await scene.visitor();
      await Promise.allSettled([
        visitor.api.call('renewVisitorSession'),
        scene.workspace.session.call('revokeInboxLinks', {
          params: { tenantId: scene.tenantId, id: visitor.conversationId },
        }),
      ]);
      expect(
        await hub.database.query('SELECT id FROM chat_sessions WHERE conversation_id = $1', [visitor.conversationId]),
      ).toEqual([]);
    }
  });

  test('of another visitor cannot access this one', async () => {
    const [one, two] = [await scene.visitor(), await scene.visitor()];
    await write(one, 'mine');
    expect((await two.api.call('listVisitorMessages', { query: {} })).data).toEqual([]);
    expect(await two.api.call('getVisitorConversation')).toMatchObject({ id: two.conversationId, lastSeq: 0 });
  });
});

describe('messages', () => {
  test('fifty concurrent ones with one client id are one message, and each response contains it', async () => {
    const visitor = await scene.visitor();
    // No message is stored before all requests have arrived.
    const holder = new Client({ connectionString: hub.database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM chat_conversations WHERE id = $1 FOR UPDATE', [visitor.conversationId]);
    let answered = 0;
    const sending = Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const answer = await send(hub.url, 'POST', '/widget/v1/messages', {
          headers: { authorization: `Bearer ${visitor.token}` },
          body: { content: `try ${n}`, clientId: 'mine' },
        });
        answered += 1;
        return answer;
      }),
    );
    await expect
      .poll(() =>
        hub.database.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%chat_conversations%'`,
        ),
      )
      .not.toEqual([]);
    await visitor.api.call('listVisitorMessages', { query: {} });
    expect(answered).toBe(0);
    await holder.query('ROLLBACK');
    await holder.end();
    const sent = await sending;
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(sent.map(({ body }) => body['id'])).size).toBe(1);
    expect(await visitor.api.call('getVisitorConversation')).toMatchObject({ lastSeq: 1, visitorReadSeq: 1 });
  });

  test('are paged forward from a message, backward from a message, and from the newest', async () => {
    const visitor = await scene.visitor();
    for (let n = 1; n <= 7; n += 1)
      await scene.api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content: `m${n}` } });
    const list = async (query: { after?: string; before?: string; limit?: number }) => {
      const { data, meta } = await visitor.api.call('listVisitorMessages', { query });
      return [data.map(({ seq }) => seq), meta.nextCursor];
    };
    expect(await list({ after: '0', limit: 3 })).toEqual([[1, 2, 3], '3']);
    expect(await list({ after: '6', limit: 3 })).toEqual([[7], null]);
    expect(await list({ limit: 3 })).toEqual([[5, 6, 7], '5']);
    expect(await list({ before: '5', limit: 3 })).toEqual([[2, 3, 4], '2']);
    expect(await list({ before: '2', limit: 3 })).toEqual([[1], null]);
    expect(await list({ after: '9999999999' })).toEqual([[], null]);
    await expectRefused(
      visitor.api.call('listVisitorMessages', { query: { after: '1', before: '5' } }),
      400,
      'validation_failed',
    );
  });

  test.each([
    [{ content: 'x' }, 'body.clientId'],
    [{ content: '', clientId: 'a' }, 'body.content'],
    [{ content: '😀'.repeat(10_001), clientId: 'a' }, 'body.content'],
    [{ content: '\0', clientId: 'a' }, 'body.content'],
    [{ content: 'x', clientId: 'a', attachmentIds: ['no'] }, 'body.attachmentIds[0]'],
  ])('in the invalid body %j are rejected with the field', async (body, path) => {
    const visitor = await scene.visitor();
    const answer = await send(hub.url, 'POST', '/widget/v1/messages', {
      headers: { authorization: `Bearer ${visitor.token}` },
      body,
    });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body.details)).toContain(path);
  });

  test('beyond twenty in ten seconds are rejected with Retry-After; a repeated message is still answered', async () => {
    const visitor = await scene.visitor();
    const sendMore = (clientId: string) =>
      send(hub.url, 'POST', '/widget/v1/messages', {
        headers: { authorization: `Bearer ${visitor.token}` },
        body: { content: clientId, clientId },
      });
    let sent = 0;
    let answer = await sendMore('m0');
    // Ten seconds of the clock: if a window ends in between, twenty more messages are allowed.
    for (; answer.status === 200 && sent < 60; answer = await sendMore(`m${sent}`)) sent += 1;
    expect(sent).toBeGreaterThanOrEqual(20);
    expect(sent).toBeLessThanOrEqual(40);
    expect(answer.body).toMatchObject({ statusCode: 429, code: 'rate_limited' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await write(visitor, 'm3')).toMatchObject({ seq: 4 });
  });

  test('reopen a resolved conversation, and assign it to an available agent', async () => {
    const own = await chatScene(hub);
    await own.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
    const visitor = await own.visitor();
    const userId = await own.agent();
    await own.workspace.session.call('updateMe', { body: { displayName: 'Ann B.' } });
    await own.workspace.session.call('updateInboxConversation', {
      params: { tenantId: own.tenantId, id: visitor.conversationId },
      body: { status: 'resolved' },
    });
    await write(visitor, 'still broken');
    const seen = await visitor.api.call('getVisitorConversation');
    expect(seen).toMatchObject({ status: 'open', agentOnline: true, agentName: 'Ann B.' });
    expect(JSON.stringify(seen)).not.toContain('@');
    const detail = await own.workspace.session.call('getInboxConversation', {
      params: { tenantId: own.tenantId, id: visitor.conversationId },
    });
    expect(detail.assignedUserId).toBe(userId);
  });

  test('are rejected in a closed conversation, with a remedy', async () => {
    const visitor = await scene.visitor();
    await scene.close(visitor.conversationId);
    await expectRefused(write(visitor, 'too late'), 409, 'conversation_closed');
  });

  test('that are private, and their files, are in no response to a visitor', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const upload = await send(
      hub.url,
      'POST',
      `/tenants/${own.tenantId}/chat/conversations/${visitor.conversationId}/files?name=note.txt`,
      { headers: { authorization: `Bearer ${own.workspace.jwt}` }, raw: Buffer.from('PRIVATE in a file') },
    );
    expect(upload.status).toBe(200);
    const fileId = upload.body['id'] as string;
    const asVisitor = { headers: { authorization: `Bearer ${visitor.token}` } };
    // A file that no message names is not readable either.
    expect((await send(hub.url, 'GET', `/widget/v1/files/${fileId}`, asVisitor)).status).toBe(404);
    await own.workspace.session.call('sendInboxMessage', {
      params: { tenantId: own.tenantId, id: visitor.conversationId },
      body: { content: 'PRIVATE', private: true, clientId: 'note', attachmentIds: [fileId] },
    });
    await write(visitor, 'hello');
    await own.workspace.session.call('sendInboxMessage', {
      params: { tenantId: own.tenantId, id: visitor.conversationId },
      body: { content: 'public', clientId: 'public' },
    });
    const answers = await Promise.all(
      [
        ['GET', '/widget/v1/conversation'],
        ['GET', '/widget/v1/messages'],
        ['GET', '/widget/v1/messages?after=0'],
        ['GET', '/widget/v1/messages?before=99'],
        ['POST', '/widget/v1/messages', { content: 'again', clientId: 'note' }],
        ['POST', '/widget/v1/read', { seq: 99 }],
        ['POST', '/widget/v1/typing', { typing: true }],
        ['POST', '/widget/v1/renew'],
        ['GET', `/widget/v1/files/${fileId}`],
      ].map(([method, path, body]) =>
        send(hub.url, method as string, path as string, { ...asVisitor, ...(body === undefined ? {} : { body }) }),
      ),
    );
    for (const { text } of answers) expect(text).not.toContain('PRIVATE');
    expect(answers.at(-1)?.status).toBe(404);
    const { data } = await visitor.api.call('listVisitorMessages', { query: { after: '0' } });
    expect(data.map(({ content }) => content)).toEqual(['hello', 'public', 'again']);
    expect(data.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });
});

describe('marks', () => {
  test('of read messages only move forward, and not beyond the last message', async () => {
    const visitor = await scene.visitor();
    for (const content of ['a', 'b', 'c'])
      await scene.api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content } });
    const read = (seq: number) => visitor.api.call('readVisitorConversation', { body: { seq } });
    expect(await read(2)).toEqual({ seq: 2 });
    expect(await read(1)).toEqual({ seq: 2 });
    expect(await read(2 ** 40)).toEqual({ seq: 3 });
    await expectRefused(read(-1), 400, 'validation_failed');
  });

  test('of typing are sent to connected clients, and not stored', async () => {
    const visitor = await scene.visitor();
    await using other = await PostgresEvents.connect(hub.database.url, testSecrets, pino({ level: 'silent' }));
    const received: unknown[] = [];
    other.subscribe(`chat:${scene.tenantId}`, (payload) => received.push(payload));
    // The hub informs other processes after it noticed the change.
    await expect
      .poll(async () => {
        expect(await visitor.api.call('showVisitorTyping', { body: { typing: true } })).toEqual({ typing: true });
        return received;
      })
      .toContainEqual({
        conversationId: visitor.conversationId,
        kind: 'typing',
        who: 'visitor',
        name: null,
        userId: null,
        typing: true,
      });
    await expectRefused(
      visitor.api.call('showVisitorTyping', { body: { typing: 'yes' as never } }),
      400,
      'validation_failed',
    );
  });
});

describe('a rating', () => {
  const rate = (visitor: TestVisitor, score: number, comment = '') =>
    visitor.api.call('rateVisitorConversation', { body: { score, comment } });
  const notificationsOf = (conversationId: string) =>
    hub.database.query(
      `SELECT body::jsonb -> 'payload' AS payload FROM webhook_deliveries WHERE conversation_id = $1 AND event = 'csat.submitted' ORDER BY sequence`,
      [conversationId],
    );
  const withWebhook = async () => {
    const own = await chatScene(hub);
    await own.api.call('createWebhook', {
      params: { tenantId: own.tenantId },
      body: { url: 'https://receiver.example/hook', events: ['csat.submitted', 'conversation.closed'] },
    });
    return own;
  };

  test('is reported once for each closing to all callers, with its first value', async () => {
    const own = await withWebhook();
    const visitor = await own.visitor();
    await expectRefused(rate(visitor, 5), 409, 'rating_not_offered');
    await own.close(visitor.conversationId);
    expect(await visitor.api.call('getVisitorConversation')).toMatchObject({ ratingOffered: true, rating: null });
    await Promise.all(Array.from({ length: 10 }, () => rate(visitor, 2, 'slow')));
    const changed = await rate(visitor, 4, 'well, fine');
    expect(changed).toMatchObject({ score: 4, comment: 'well, fine' });
    expect(await visitor.api.call('getVisitorConversation')).toMatchObject({
      rating: { score: 4 },
      ratingOffered: true,
    });
    const first = await notificationsOf(visitor.conversationId);
    expect(first).toHaveLength(1);
    expect(JSON.stringify(first)).toContain('"slow"');
    await own.workspace.session.call('updateInboxConversation', {
      params: { tenantId: own.tenantId, id: visitor.conversationId },
      body: { status: 'open' },
    });
    await expectRefused(rate(visitor, 1), 409, 'rating_not_offered');
    await own.close(visitor.conversationId);
    await rate(visitor, 1);
    expect(await notificationsOf(visitor.conversationId)).toHaveLength(2);
    const [kept] = await hub.database.query(
      'SELECT count(*)::int AS count FROM chat_ratings WHERE conversation_id = $1',
      [visitor.conversationId],
    );
    expect(kept).toEqual({ count: 2 });
  });

  test('is offered for 14 days after the closing, and can be changed for 24 hours after it was first given', async () => {
    const visitor = await scene.visitor();
    await scene.close(visitor.conversationId);
    await rate(visitor, 3);
    await ageRatings(hub.database, visitor.conversationId, { hours: 24 });
    await expectRefused(rate(visitor, 4), 409, 'rating_not_offered');
    const late = await scene.visitor();
    await scene.close(late.conversationId);
    await ageClosing(hub.database, late.conversationId, { days: 14 });
    expect(await late.api.call('getVisitorConversation')).toMatchObject({ ratingOffered: false });
    await expectRefused(rate(late, 4), 409, 'rating_not_offered');
  });

  test('is not offered if the workspace does not enable ratings', async () => {
    const own = await chatScene(hub);
    await own.set({ ratings: false });
    const visitor = await own.visitor();
    await own.close(visitor.conversationId);
    expect(await visitor.api.call('getVisitorConversation')).toMatchObject({ ratingOffered: false });
    await expectRefused(rate(visitor, 5), 409, 'rating_not_offered');
  });

  test.each([0, 6, 1.5])('of %d is rejected', async (score) => {
    const visitor = await scene.visitor();
    await expectRefused(rate(visitor, score), 400, 'validation_failed');
  });
});

describe('a new conversation', () => {
  test('starts after the old one is closed, one for all concurrent requests, and the old session stays in the old one', async () => {
    const visitor = await scene.visitor();
    const begin = () => visitor.api.call('beginVisitorConversation');
    await expectRefused(begin(), 409, 'conflict');
    await scene.close(visitor.conversationId);
    const sessions = await Promise.all(Array.from({ length: 8 }, begin));
    const ids = new Set(sessions.map(({ conversation }) => conversation.id));
    expect(ids.size).toBe(1);
    expect(ids).not.toContain(visitor.conversationId);
    const [first] = sessions;
    expect(first?.visitorId).toBe(visitor.visitorId);
    await hub.client(first?.token).call('sendVisitorMessage', { body: { content: 'anew', clientId: 'a' } });
    expect(await visitor.api.call('getVisitorConversation')).toMatchObject({ id: visitor.conversationId, lastSeq: 0 });
    const detail = await scene.workspace.session.call('getInboxConversation', {
      params: { tenantId: scene.tenantId, id: [...ids][0] as string },
    });
    expect(detail).toMatchObject({ source: 'widget', visitorVerified: true });
  });

  test('is assigned to an available agent with its first message, if the workspace enables it', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    await own.close(visitor.conversationId);
    await own.set({ autoAssignment: { enabled: true, capacity: 5, returnToPool: false } });
    await own.agent();
    await own.workspace.session.call('updateMe', { body: { displayName: 'Ann B.' } });
    const { conversation, token } = await visitor.api.call('beginVisitorConversation');
    expect(conversation.agentName).toBeNull();
    const begun = hub.client(token);
    await begun.call('sendVisitorMessage', { body: { content: 'I need help', clientId: 'a' } });
    expect((await begun.call('getVisitorConversation')).agentName).toBe('Ann B.');
  });

  test.each([
    ['nobody writes', []],
    [
      'only a workflow greets',
      [
        {
          type: 'skill',
          skillId: 'chat.post_message',
          input: { channelId: '{{payload.conversation.id}}', content: 'Welcome' },
        },
      ],
    ],
  ])('in which %s uses no capacity of an agent, and is not listed as unassigned or open', async (_what, greeting) => {
    const own = await chatScene(hub);
    const tenant = { tenantId: own.tenantId };
    const greet = { type: 'event', event: { type: 'conversation.created' } };
    if (greeting.length > 0)
      await own.workspace.api.call('createAutomationWorkflow', {
        body: { name: 'greet', stepsJson: greeting as never, triggerJson: greet as never },
      });
    await own.set({ autoAssignment: { enabled: true, capacity: 2, returnToPool: false } });
    await own.agent();
    const counts = () => own.workspace.session.call('countInboxConversations', { params: tenant });
    const before = await counts();
    const silent = await Promise.all(Array.from({ length: 4 }, () => own.visitor()));
    if (greeting.length > 0)
      for (const { api } of silent)
        await expect.poll(async () => (await api.call('getVisitorConversation')).lastSeq).toBe(1);
    await hub.app.sweep();
    expect(await counts()).toMatchObject({ mine: before.mine, unassigned: before.unassigned, open: before.open });
    const writes = await own.visitor();
    if (greeting.length > 0)
      await expect.poll(async () => (await writes.api.call('getVisitorConversation')).lastSeq).toBe(1);
    // An agent is away after 30 s, which a busy machine can have used.
    await own.agent();
    await writes.api.call('sendVisitorMessage', { body: { content: 'I need help', clientId: 'a' } });
    const detail = await own.workspace.session.call('getInboxConversation', {
      params: { ...tenant, id: writes.conversationId },
    });
    expect(detail.assignedUserId).not.toBeNull();
    await hub.app.sweep();
    expect(await counts()).toMatchObject({ unassigned: before.unassigned, open: before.open + 1 });
  });
});

test('a visitor of a test key can do all of this, in test conversations', async () => {
  await forgetLimits();
  const visitor = await scene.visitor('tester', 'test');
  await write(visitor, 'hello');
  const upload = await sendFile(hub, visitor.token, Buffer.from('text'), 'a.txt');
  expect(upload.status).toBe(200);
  await scene.close(visitor.conversationId);
  await visitor.api.call('rateVisitorConversation', { body: { score: 5 } });
  const { conversation } = await visitor.api.call('beginVisitorConversation');
  const rows = await hub.database.query('SELECT DISTINCT environment FROM chat_conversations WHERE id = ANY($1)', [
    [conversation.id, visitor.conversationId],
  ]);
  expect(rows).toEqual([{ environment: 'test' }]);
});
