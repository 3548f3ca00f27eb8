import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { addFirstMessage, expireLinks, noteFirstMessage, setConversationStatus } from '../fixtures/stage/chat.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let chat: TestWorkspace['api'];
let key: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' }, undefined, patientDatabase);
  workspace = await hub.workspace();
  ({ key } = await workspace.createKey({ product: 'chat' }));
  chat = hub.client(key);
});
afterAll(() => hub[Symbol.asyncDispose]());

const other = async () => {
  const otherWorkspace = await hub.workspace();
  return hub.client((await otherWorkspace.createKey({ product: 'chat' })).key);
};
const post = (path: string, body: unknown) => send(hub.url, 'POST', path, { headers: { 'x-api-key': key }, body });

describe('creating a session', () => {
  test('returns a link with site key and token, and an existing person keeps one conversation', async () => {
    const first = await chat.call('createChatSession', {
      body: { externalId: 'ann', displayName: 'Ann', email: 'ann@example.org', attributes: { plan: 'pro', seats: 3 } },
    });
    const url = new URL(first.chatUrl);
    expect({ path: url.pathname, ...Object.fromEntries(url.searchParams) }).toEqual({
      path: '/chat',
      siteKey: first.siteKey,
      token: first.visitorToken,
    });
    expect(first.siteKey).toMatch(/^wgt_/);
    expect(Math.abs(Date.parse(first.expiresAt) - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
    const second = await chat.call('createChatSession', {
      body: { externalId: 'ann', attributes: { seats: null, team: 'x' } },
    });
    expect(second).toMatchObject({ conversationId: first.conversationId, siteKey: first.siteKey });
    expect(second.visitorToken).not.toBe(first.visitorToken);
    const { data } = await chat.call('listChatVisitors', { query: { externalId: 'ann' } });
    expect(data).toMatchObject([
      { display_name: 'Ann', email: 'ann@example.org', external_id: 'ann', attributes: { plan: 'pro', team: 'x' } },
    ]);
    expect(Object.keys(data[0]?.attributes ?? {})).toEqual(['plan', 'team']);
    const stored = await hub.database.query('SELECT * FROM chat_links');
    expect(JSON.stringify(stored)).not.toContain(first.visitorToken);
  });

  test('fifty times at once for one person creates one visitor, one conversation, one widget and fifty usage events', async () => {
    const own = await hub.workspace();
    const api = hub.client((await own.createKey({ product: 'chat' })).key);
    const minted = await Promise.all(
      Array.from({ length: 50 }, () =>
        api.call('createChatSession', { body: { externalId: 'crowd', displayName: 'Crowd' } }),
      ),
    );
    expect(new Set(minted.map(({ conversationId }) => conversationId)).size).toBe(1);
    expect(new Set(minted.map(({ siteKey }) => siteKey)).size).toBe(1);
    expect(new Set(minted.map(({ visitorToken }) => visitorToken)).size).toBe(50);
    const counts = await hub.database.query(
      `SELECT (SELECT count(*)::int FROM chat_visitors WHERE tenant_id = $1) AS visitors, (SELECT count(*)::int FROM chat_conversations WHERE tenant_id = $1) AS conversations,
         (SELECT count(*)::int FROM chat_widgets WHERE tenant_id = $1) AS widgets, (SELECT count(*)::int FROM usage_events WHERE tenant_id = $1 AND kind = 'chat.session') AS used`,
      [own.tenantId],
    );
    expect(counts).toEqual([{ visitors: 1, conversations: 1, widgets: 1, used: 50 }]);
  });

  test('opens a new conversation if the last one is resolved or closed, otherwise uses the one with the newest message', async () => {
    const open = async () => (await chat.call('createChatSession', { body: { externalId: 'again' } })).conversationId;
    const first = await open();
    await setConversationStatus(hub.database, [first], 'closed');
    const second = await open();
    expect(second).not.toBe(first);
    const third = (
      await chat.call('createChatConversation', { body: { name: 'third', visitor: { externalId: 'again' } } })
    ).id;
    expect(await open()).toBe(third);
    await chat.call('sendChatMessage', { params: { id: second }, body: { content: 'newest' } });
    expect(await open()).toBe(second);
  });

  test.each([
    [{}, 'body.externalId'],
    [{ externalId: '' }, 'body.externalId'],
    [{ externalId: '😀'.repeat(201) }, 'body.externalId'],
    [{ externalId: 'x', email: 'no' }, 'body.email'],
    [{ externalId: 'x', source: 'x'.repeat(101) }, 'body.source'],
    [{ externalId: 'x', source: '' }, 'body.source'],
    [
      { externalId: 'x', attributes: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 1])) },
      'body.attributes',
    ],
    [{ externalId: 'x', attributes: { long: 'x'.repeat(17_000) } }, 'body.attributes'],
    [{ externalId: 'x', unknown: 1 }, 'body'],
  ])('rejects %j and names %s', async (body, path) => {
    const answer = await post('/v1/chat/sessions', body);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(path);
  });

  test('counts code points: two hundred characters beyond the basic plane are accepted', async () => {
    const { externalId } = await chat.call('createChatSession', { body: { externalId: '😀'.repeat(200) } });
    expect([...externalId]).toHaveLength(200);
  });

  test('rejects attributes beyond the limit, and then changes nothing', async () => {
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${from + n}`, n]));
    await chat.call('createChatSession', { body: { externalId: 'full', attributes: many(0, 50) } });
    const answer = await post('/v1/chat/sessions', { externalId: 'full', displayName: 'New', attributes: { more: 1 } });
    expect(answer.status).toBe(400);
    const swapped = await post('/v1/chat/sessions', { externalId: 'full', attributes: { more: 1, k0: null } });
    expect(swapped.status).toBe(200);
    const { data } = await chat.call('listChatVisitors', { query: { externalId: 'full' } });
    expect(data[0]).toMatchObject({ display_name: null });
    expect(Object.keys(data[0]?.attributes ?? {})).toHaveLength(50);
  });
});

describe('messages', () => {
  const conversation = async () => (await chat.call('createChatConversation', { body: { name: 'talk' } })).id;

  test('of many concurrent senders are numbered without a gap, and listed oldest first in pages', async () => {
    const id = await conversation();
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        chat.call('sendChatMessage', { params: { id }, body: { content: `message ${n}` } }),
      ),
    );
    const seen: number[] = [];
    let after: string | undefined;
    do {
      const page = await chat.call('listChatMessages', {
        params: { id },
        query: { limit: 7, ...(after === undefined ? {} : { after }) },
      });
      seen.push(...page.data.map(({ seq }) => seq));
      after = page.meta.nextCursor ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n + 1));
  });

  test('sent twice with one client id are one message, also concurrently', async () => {
    const id = await conversation();
    const sent = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        chat.call('sendChatMessage', { params: { id }, body: { content: `try ${n}`, clientId: 'mine' } }),
      ),
    );
    expect(new Set(sent.map((message) => JSON.stringify(message))).size).toBe(1);
    const { key: second } = await workspace.createKey({ product: 'chat' });
    const theirs = await hub
      .client(second)
      .call('sendChatMessage', { params: { id }, body: { content: 'other', clientId: 'mine' } });
    expect(theirs.seq).toBe(2);
  });

  test('are rejected in a closed conversation, empty, too long, and in an unknown conversation', async () => {
    const id = await conversation();
    const path = `/v1/chat/conversations/${id}/messages`;
    for (const content of ['', 'x'.repeat(10_001)]) expect((await post(path, { content })).status).toBe(400);
    expect((await post(path, { content: '😀'.repeat(10_000) })).status).toBe(200);
    await setConversationStatus(hub.database, [id], 'closed');
    expect((await post(path, { content: 'late' })).body).toMatchObject({
      statusCode: 409,
      code: 'conversation_closed',
    });
    const otherWorkspace = await other();
    await expect(
      otherWorkspace.call('sendChatMessage', { params: { id }, body: { content: 'x' } }),
    ).rejects.toMatchObject({
      status: 404,
    });
    await expect(otherWorkspace.call('listChatMessages', { params: { id } })).rejects.toMatchObject({ status: 404 });
  });

  test('start the workflows that subscribe to them, with the sequence of their conversation', async () => {
    const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'follow',
        triggerJson: {
          type: 'event',
          event: { type: 'message.created', filter: { 'conversation.source': 'followed' } },
        } as never,
        stepsJson: [{ type: 'log', message: '{{payload.sequence}} {{payload.message.content}} {{payload.actor}}' }],
      },
    });
    const { id } = await chat.call('createChatConversation', { body: { name: 'talk', source: 'followed' } });
    for (const content of ['one', 'two']) await chat.call('sendChatMessage', { params: { id }, body: { content } });
    await expect
      .poll(async () => {
        const { data } = await workspace.api.call('listAutomationRuns', { query: { workflowId } });
        const runs = await Promise.all(
          data.map((run) => workspace.api.call('getAutomationRun', { params: { id: run.id } })),
        );
        return runs
          .map(({ payload }) => payload as { sequence: number; message: { content: string } })
          .map(({ sequence, message }) => [sequence, message.content])
          .toSorted();
      })
      .toEqual([
        [2, 'one'],
        [3, 'two'],
      ]);
  });
});

describe('the list of conversations', () => {
  test('lists each conversation once, while other conversations change', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(11), { minLength: 12, maxLength: 30 }),
        fc.array(fc.record({ after: fc.nat(5), to: fc.nat(11), makes: fc.boolean() }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (before, moves, limit) => {
          const own = await hub.workspace();
          const api = hub.client((await own.createKey({ product: 'chat' })).key);
          const ids: string[] = [];
          for (let n = 0; n < 12; n += 1)
            ids.push((await api.call('createChatConversation', { body: { name: `c${n}` } })).id);
          const write = (n: number) =>
            api.call('sendChatMessage', { params: { id: ids[n] as string }, body: { content: 'x' } });
          for (const n of before) await write(n);
          const expected = (await api.call('listChatConversations', { query: { limit: 100 } })).data.map(
            ({ id }) => id,
          );
          const seen: string[] = [];
          let cursor: string | undefined;
          for (let page = 0; page < 20; page += 1) {
            const answer = await api.call('listChatConversations', {
              query: { limit, ...(cursor === undefined ? {} : { cursor }) },
            });
            seen.push(...answer.data.map(({ id }) => id));
            cursor = answer.meta.nextCursor ?? undefined;
            for (const move of moves.filter(({ after }) => after === page)) {
              if (move.makes) await api.call('createChatConversation', { body: { name: 'new' } });
              else await write(move.to);
            }
            if (cursor === undefined) break;
          }
          expect(seen).toEqual(expected);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('also lists a conversation whose message was being written when the list began', async () => {
    const own = await hub.workspace();
    const api = hub.client((await own.createKey({ product: 'chat' })).key);
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push((await api.call('createChatConversation', { body: { name: `c${n}` } })).id);
    const client = new Client({ connectionString: hub.database.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      await noteFirstMessage(client, ids[0] as string);
      await addFirstMessage(client, { tenantId: own.tenantId, conversationId: ids[0] as string }, 'slow');
      const first = await api.call('listChatConversations', { query: { limit: 2 } });
      await client.query('COMMIT');
      const second = await api.call('listChatConversations', {
        query: { limit: 2, cursor: first.meta.nextCursor as string },
      });
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids.toReversed());
    } finally {
      await client.end();
    }
  });

  test('accepts any text as source, defaults to api, and filters by the exact source', async () => {
    const api = hub.client((await (await hub.workspace()).createKey({ product: 'chat' })).key);
    for (const source of ['API', 'Mobile App', 'mobile app', undefined])
      await api.call('createChatConversation', { body: { name: 'n', ...(source === undefined ? {} : { source }) } });
    const named = async (source: string) =>
      (await api.call('listChatConversations', { query: { source } })).data.map((found) => found.source);
    expect(await named('API')).toEqual(['API']);
    expect(await named('api')).toEqual(['api']);
    expect(await named('Mobile App')).toEqual(['Mobile App']);
    expect(await named('App')).toEqual([]);
    await api.call('createChatSession', { body: { externalId: 'phone', source: 'Mobile App' } });
    expect(await named('Mobile App')).toHaveLength(2);
  });

  test('shows a new visitor for each session without an external id', async () => {
    const api = hub.client((await (await hub.workspace()).createKey({ product: 'chat' })).key);
    const visitor = { displayName: 'Ann', email: 'ann@example.org' };
    const made = [
      await api.call('createChatConversation', { body: { name: 'a', visitor } }),
      await api.call('createChatConversation', { body: { name: 'b', visitor } }),
    ];
    expect(new Set(made.map(({ visitorId }) => visitorId)).size).toBe(2);
    expect((await api.call('listChatVisitors', { query: {} })).data).toMatchObject([
      { external_id: null, display_name: 'Ann', email: 'ann@example.org' },
      { external_id: null, display_name: 'Ann', email: 'ann@example.org' },
    ]);
  });

  test('filters, rejects unknown values, and rejects cursors of another list or workspace', async () => {
    const own = await hub.workspace();
    const ownKey = (await own.createKey({ product: 'chat' })).key;
    const api = hub.client(ownKey);
    for (const source of ['mail', 'mail', 'widget'])
      await api.call('createChatConversation', { body: { name: source, source } });
    expect((await api.call('listChatConversations', { query: { source: 'mail' } })).data).toHaveLength(2);
    expect((await api.call('listChatConversations', { query: { status: 'closed' } })).data).toEqual([]);
    const { meta } = await api.call('listChatConversations', { query: { limit: 1 } });
    const get = (query: string, headers = { 'x-api-key': ownKey }) =>
      send(hub.url, 'GET', `/v1/chat/conversations?${query}`, { headers });
    expect((await get(`cursor=${meta.nextCursor}`)).status).toBe(200);
    for (const query of ['status=new', 'limit=0', 'limit=101', 'cursor=abc', `source=mail&cursor=${meta.nextCursor}`])
      expect((await get(query)).status).toBe(400);
    expect((await get(`cursor=${meta.nextCursor}`, { 'x-api-key': key })).status).toBe(400);
  });
});

test('a visitor is found by the external id within the same workspace only, and the list has pages', async () => {
  const own = await hub.workspace();
  const api = hub.client((await own.createKey({ product: 'chat' })).key);
  for (const externalId of ['a', 'b', 'c']) await api.call('createChatSession', { body: { externalId } });
  const first = await api.call('listChatVisitors', { query: { limit: 2 } });
  expect(first.data.map(({ external_id }) => external_id)).toEqual(['c', 'b']);
  expect(first.meta).toMatchObject({ limit: 2 });
  const second = await api.call('listChatVisitors', { query: { limit: 2, cursor: first.meta?.nextCursor as string } });
  expect(second.data.map(({ external_id }) => external_id)).toEqual(['a']);
  const found = await api.call('listChatVisitors', { query: { externalId: 'b' } });
  expect(found).toEqual({ data: [expect.objectContaining({ external_id: 'b' })] });
  expect((await (await other()).call('listChatVisitors', { query: { externalId: 'b' } })).data).toEqual([]);
});

test('the sweep deletes expired links, and no other links', async () => {
  const mint = async (externalId: string) =>
    (await chat.call('createChatSession', { body: { externalId } })).conversationId;
  const [over, open] = [await mint('over'), await mint('open')];
  await expireLinks(hub.database, { conversationId: over, ago: { hours: 2 } });
  await hub.app.sweep();
  expect(
    await hub.database.query('SELECT conversation_id FROM chat_links WHERE conversation_id = ANY($1)', [[over, open]]),
  ).toEqual([{ conversation_id: open }]);
});
