import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { addSearchableMessages, searchPrefixOf } from '../fixtures/stage/chat.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let chat: TestWorkspace['api'];
let tenantId: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
  ({ tenantId } = workspace);
  chat = hub.client(workspace.keys.chat);
});
afterAll(() => hub[Symbol.asyncDispose]());

const open = async (api = chat, name = 'talk') => (await api.call('createChatConversation', { body: { name } })).id;
const sendMessage = (id: string, content: string, api = chat) =>
  api.call('sendChatMessage', { params: { id }, body: { content } });
const note = (id: string, content: string, own = workspace) =>
  own.session.call('sendInboxMessage', {
    params: { tenantId: own.tenantId, id },
    body: { content, private: true },
  });
const search = (q: string, query: object = {}, own = workspace) =>
  own.session.call('searchInbox', { params: { tenantId: own.tenantId }, query: { q, ...query } });
const found = async (q: string, query: object = {}, own = workspace) =>
  (await search(q, query, own)).data.map(({ message }) => message.content);
const ask = (query: string, token: string | null = workspace.jwt, tenant = tenantId) =>
  send(hub.url, 'GET', `/tenants/${tenant}/chat/search?${query}`, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });

describe('search', () => {
  test.each([
    ['My order 4711 is late', 'ORDER late', ['order', 'late']],
    ['My other delivery came', 'deliv', ['delivery']],
    ['Die Rücksendung für Übergrößen dauert', 'ubergrossen rücksend', ['Rücksendung', 'Übergrößen']],
    ['Grüße aus der Straße', 'STRASSE', ['Straße']],
    ['我想退款，订单还没到', '退款', ['退款']],
    ['สวัสดีครับ ขอคืนเงินหน่อย', 'คืนเงิน', ['คืนเงิน']],
    ['أريد استرداد المَبْلَغ من فضلك', 'المبلغ استرداد', ['استرداد', 'المَبْلَغ']],
    ['東京都に住んでいます', '京都', ['京都']],
  ])('finds %j by %j and returns the position', async (content, q, words) => {
    const id = await open();
    await sendMessage(id, content);
    const { data } = await search(q);
    const hit = data.find(({ message }) => message.conversationId === id);
    expect(hit).toMatchObject({ conversationName: 'talk', message: { content, private: false, senderType: 'api' } });
    expect(hit?.highlights.map(({ start, end }) => content.slice(start, end))).toEqual(words);
  });

  test('does not find a text that lacks one of the words, or has them in another script', async () => {
    const id = await open();
    await sendMessage(id, 'violet umbrella');
    expect(await found('violet umbrella')).toEqual(['violet umbrella']);
    expect(await found('violet hammer')).toEqual([]);
    expect(await found('umbrella violettes')).toEqual([]);
    expect(await found('雨傘')).toEqual([]);
  });

  test('includes notes for agents, returns only notes, or excludes them, as requested', async () => {
    const id = await open();
    await sendMessage(id, 'zebra said aloud');
    await note(id, 'zebra among us');
    expect(await found('zebra')).toEqual(['zebra among us', 'zebra said aloud']);
    expect(await found('zebra', { private: 'true' })).toEqual(['zebra among us']);
    expect(await found('zebra', { private: 'false' })).toEqual(['zebra said aloud']);
  });

  test('returns pages newest first, and each message once while others arrive', async () => {
    const own = await hub.workspace();
    const api = hub.client(own.keys.chat);
    const id = await open(api);
    for (let n = 0; n < 11; n += 1) await sendMessage(id, `walk ${n}`, api);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await search('walk', { limit: 4, ...(cursor === undefined ? {} : { cursor }) }, own);
      seen.push(...page.data.map(({ message }) => message.content));
      cursor = page.meta.nextCursor ?? undefined;
      await sendMessage(id, 'walk later', api);
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 11 }, (_, n) => `walk ${10 - n}`));
  });

  test.each(["' | '", "x' & !y:*", '\\', "\\\\'", ':*', '!', '<->', '()', '%_', '"', '😀', '⁠', "a\\'b", 'walk:*:A'])(
    'accepts the unfinished input %j',
    async (q) => {
      const { data } = await search(q);
      expect(data.filter(({ message }) => message.content.startsWith('My order'))).toEqual([]);
    },
  );

  test('rejects an empty query, and cursors of other queries', async () => {
    for (const query of ['', 'q=', `q=${'x'.repeat(201)}`, 'q=a%00b', 'q=a&limit=0', 'q=a&private=maybe', 'q=a&z=1'])
      expect((await ask(query)).status, query).toBe(400);
    const id = await open();
    for (let n = 0; n < 3; n += 1) await sendMessage(id, `cursors ${n}`);
    const { nextCursor } = (await search('cursors', { limit: 2 })).meta;
    expect(await ask(`q=cursor&cursor=${nextCursor}`)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
    expect(await ask(`q=cursors&private=true&cursor=${nextCursor}`)).toMatchObject({ status: 400 });
  });

  test('requires an agent of the workspace, and finds nothing of another workspace', async () => {
    const otherWorkspace = await hub.workspace();
    const id = await open();
    await sendMessage(id, 'treasure island');
    expect((await ask('q=treasure', null)).status).toBe(401);
    expect((await ask('q=treasure', workspace.keys.chat)).status).toBe(401);
    expect((await ask('q=treasure', otherWorkspace.jwt)).status).toBe(404);
    expect(await found('treasure', {}, otherWorkspace)).toEqual([]);
  });
});

describe('search in many messages', () => {
  let own: TestWorkspace;
  beforeAll(async () => {
    own = await hub.workspace();
    const id = await open(hub.client(own.keys.chat));
    // Words as the hub stores them: one in every message, one in every hundredth message of the older half, and one in
    // ten messages.
    await addSearchableMessages(hub.database, { tenantId: own.tenantId, conversationId: id });
    await hub.database.query('VACUUM ANALYZE chat_messages');
  });

  const walk = async (q: string, limit: number, pages: number) => {
    const ids: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < pages; page += 1) {
      const { data, meta } = await search(q, { limit, ...(cursor === undefined ? {} : { cursor }) }, own);
      ids.push(...data.map(({ message }) => message.id));
      cursor = meta.nextCursor ?? undefined;
      if (cursor === undefined) break;
    }
    return ids;
  };
  const newest = async (word: string, count: number) =>
    (
      await hub.database.query<{ id: string }>(
        `SELECT id FROM chat_messages WHERE tenant_id = $1 AND content LIKE $2 ORDER BY id DESC LIMIT $3`,
        [own.tenantId, `%${word}%`, count],
      )
    ).map(({ id }) => id);

  test.each([
    ['in every message', 'common', 100, 2],
    ['rare', 'rare', 3, 4],
    ['common long ago and gone since', 'old', 100, 2],
  ])('finds all messages with a word that is %s, newest first', async (_how, word, limit, pages) => {
    expect(await walk(word, limit, pages)).toEqual(await newest(word, pages * limit));
  });

  test('finds a rare word by the index, which only a role that bypasses row-level security may read', async () => {
    const client = new Client({ connectionString: hub.database.url });
    await client.connect();
    try {
      const plan = async (role: string) => {
        await client.query(`BEGIN; SET LOCAL ROLE ${role}; SET LOCAL outrigger.tenant_id = '${own.tenantId}'`);
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(
          'EXPLAIN SELECT id FROM chat_messages WHERE tenant_id = $1 AND words @@ $2::tsquery',
          [own.tenantId, `'${searchPrefixOf(own.tenantId)}rare'`],
        );
        await client.query('ROLLBACK');
        return rows.map((row) => row['QUERY PLAN']).join('\n');
      };
      expect(await plan('outrigger_system')).toContain('chat_messages_words');
      // When this fails, the search can be a normal statement of the workspace.
      expect(await plan('outrigger_app')).not.toContain('chat_messages_words');
    } finally {
      await client.end();
    }
  });
});
