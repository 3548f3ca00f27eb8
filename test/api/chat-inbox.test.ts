import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foldDoneCounts } from '../../hub/products/chat/inbox/done-counts.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import {
  addDoneConversations,
  ageSomeDoneConversations,
  endSomeSnoozes,
  setDoneCount,
  setDoneCountsAsHub,
} from '../fixtures/stage/chat.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let chat: TestWorkspace['api'];
let agents: TestWorkspace['session'];
let tenantId: string;
let adminId: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
  ({ tenantId, session: agents } = workspace);
  chat = hub.client((await workspace.createKey({ product: 'chat' })).key);
  adminId = (await agents.call('readMe', {})).user.id;
});
afterAll(() => hub[Symbol.asyncDispose]());

const params = () => ({ tenantId });
const inParams = (id: string) => ({ tenantId, id });
const open = async (name: string) => (await chat.call('createChatConversation', { body: { name } })).id;
const sendMessage = (id: string, content: string) =>
  chat.call('sendChatMessage', { params: { id }, body: { content } });
const views = async (view: string) =>
  (await agents.call('listInboxConversations', { params: params(), query: { view: view as 'all' } })).data.map(
    ({ id }) => id,
  );

/** Adds a member to the workspace. */
async function colleague(own = workspace) {
  const email = `agent-${Math.random().toString(36).slice(2)}@example.org`;
  const password = 'correct horse battery';
  const { id } = await own.session.call('addMember', {
    params: { tenantId: own.tenantId },
    body: { email, password, role: 'agent' },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return { id, email, api: hub.client(token) };
}

describe('the views of the inbox', () => {
  test('contain the conversations that their names describe, with exact counts', async () => {
    const own = await hub.workspace();
    const key = hub.client((await own.createKey({ product: 'chat' })).key);
    const me = (await own.session.call('readMe', {})).user.id;
    const make = async (name: string) => (await key.call('createChatConversation', { body: { name } })).id;
    const at = (id: string) => ({ tenantId: own.tenantId, id });
    const [mine, free, waiting, resting, done, over] = [
      await make('mine'),
      await make('free'),
      await make('waiting'),
      await make('resting'),
      await make('done'),
      await make('over'),
    ];
    await own.session.call('assignInboxConversation', { params: at(mine), body: { userId: me } });
    const change = (id: string, body: object) =>
      own.session.call('updateInboxConversation', { params: at(id), body: body as never });
    await change(waiting, { status: 'pending' });
    await change(resting, { snoozedUntil: new Date(Date.now() + 3_600_000).toISOString() });
    await change(done, { status: 'resolved' });
    await change(over, { status: 'closed' });
    const listed = async (view: string) =>
      (
        await own.session.call('listInboxConversations', {
          params: { tenantId: own.tenantId },
          query: { view: view as 'all' },
        })
      ).data
        .map(({ name }) => name)
        .toSorted();
    const expected = {
      all: ['done', 'free', 'mine', 'over', 'resting', 'waiting'],
      mine: ['mine'],
      unassigned: ['free', 'waiting'],
      open: ['free', 'mine'],
      pending: ['waiting'],
      snoozed: ['resting'],
      resolved: ['done'],
      closed: ['over'],
    };
    for (const [view, names] of Object.entries(expected)) expect([view, await listed(view)]).toEqual([view, names]);
    expect(await own.session.call('countInboxConversations', { params: { tenantId: own.tenantId } })).toEqual({
      ...Object.fromEntries(Object.entries(expected).map(([view, names]) => [view, names.length])),
      unread: 0,
    });
    expect(free).toBeDefined();
  });

  test('have exact counts after any sequence of changes, ends, deletions and folds', async () => {
    const own = await chatScene(hub);
    const { session } = own.workspace;
    const inOwn = { tenantId: own.tenantId };
    const me = (await session.call('readMe', {})).user.id;
    let seed = 7;
    const dice = (sides: number) => Math.floor(((seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647) * sides);
    const there = async () =>
      hub.database.query<{ id: string; visitor_id: string }>(
        'SELECT id, visitor_id FROM chat_conversations WHERE tenant_id = $1 AND visitor_id IS NOT NULL ORDER BY id',
        [own.tenantId],
      );
    const visitors = new Map<string, Awaited<ReturnType<typeof own.visitor>>>();
    const write = (id: string) =>
      visitors.get(id)?.api.call('sendVisitorMessage', { body: { content: 'x', clientId: `${seed}` } });
    const begin = async () => {
      const visitor = await own.visitor();
      visitors.set(visitor.conversationId, visitor);
      await write(visitor.conversationId);
    };
    const isAwake = '(snoozed_until IS NULL OR snoozed_until <= now())';
    const isListed = '(assigned_user_id IS NOT NULL OR has_started)';
    const counted = async () =>
      (
        await hub.database.query(
          `SELECT count(*)::int AS all, count(*) FILTER (WHERE unread_count > 0)::int AS unread, count(*) FILTER (WHERE status = 'resolved')::int AS resolved,
             count(*) FILTER (WHERE status = 'closed')::int AS closed, count(*) FILTER (WHERE status = 'open' AND ${isAwake} AND ${isListed})::int AS open,
             count(*) FILTER (WHERE status = 'pending' AND ${isAwake})::int AS pending,
             count(*) FILTER (WHERE status IN ('open', 'pending') AND assigned_user_id = $2 AND ${isAwake})::int AS mine,
             count(*) FILTER (WHERE status IN ('open', 'pending') AND assigned_user_id IS NULL AND ${isAwake} AND ${isListed})::int AS unassigned,
             count(*) FILTER (WHERE status IN ('open', 'pending') AND snoozed_until > now())::int AS snoozed
           FROM chat_conversations WHERE tenant_id = $1`,
          [own.tenantId, me],
        )
      )[0];
    const statuses = ['open', 'pending', 'resolved', 'closed'] as const;
    const steps = [
      begin,
      write,
      async (id: string) => session.call('readInboxConversation', { params: { ...inOwn, id }, body: { seq: 1 } }),
      async (id: string) => session.call('assignInboxConversation', { params: { ...inOwn, id }, body: { userId: me } }),
      async (id: string) =>
        session.call('updateInboxConversation', {
          params: { ...inOwn, id },
          body: { snoozedUntil: new Date(Date.now() + 3_600_000).toISOString() },
        }),
      async () =>
        session.call('changeInboxConversations', {
          params: inOwn,
          body: { ids: (await there()).slice(0, 4).map(({ id }) => id), status: statuses[dice(4)] },
        }),
      ...Array.from(
        { length: 3 },
        () => (id: string) =>
          session.call('updateInboxConversation', { params: { ...inOwn, id }, body: { status: statuses[dice(4)] } }),
      ),
      // Ending snoozes, retention, and the erasure of a visitor.
      async () => endSomeSnoozes(hub.database, own.tenantId),
      async () => ageSomeDoneConversations(hub.database, own.tenantId, { days: 9 }),
      async () => (dice(4) === 0 ? hub.app.sweep() : foldDoneCounts(hub.app.db)),
      async (_id: string, visitor: string) => session.call('eraseInboxVisitor', { params: { ...inOwn, id: visitor } }),
    ];
    await own.set({ retentionDays: 7 });
    for (let count = 0; count < 12; count += 1) await begin();
    for (let round = 0; round < 8; round += 1) {
      const some = await there();
      const work = Array.from({ length: 8 }, async () => {
        const on = some[dice(some.length)];
        return steps[dice(steps.length)]?.(on?.id ?? '', on?.visitor_id ?? '');
      });
      // Requests for deleted or closed conversations are refused meanwhile.
      await Promise.allSettled(work);
      await expect
        .poll(async () => [await session.call('countInboxConversations', { params: inOwn }), await counted()])
        .toSatisfy(([told, plain]) => isDeepStrictEqual(told, plain));
    }
  });

  test('are counted from a few rows, regardless of the number of resolved conversations', async () => {
    const own = await hub.workspace();
    const inOwn = { tenantId: own.tenantId };
    await addDoneConversations(hub.database, own.tenantId, 600);
    await hub.app.sweep();
    const kept = () =>
      hub.database.query('SELECT kind, count::int FROM chat_done_counts WHERE tenant_id = $1 ORDER BY kind', [
        own.tenantId,
      ]);
    const counts = { closed: 400, resolved: 200, unread: 300 };
    expect(await kept()).toEqual(Object.entries(counts).map(([kind, count]) => ({ kind, count })));
    expect(await own.session.call('countInboxConversations', { params: inOwn })).toMatchObject({ ...counts, all: 600 });
    // The list reads this count, and no role of the hub can change it directly.
    await setDoneCount(hub.database, own.tenantId, 'closed', 7);
    expect(await own.session.call('countInboxConversations', { params: inOwn })).toMatchObject({ closed: 7 });
    const wrong = setDoneCountsAsHub(hub.database);
    await expect(wrong).rejects.toThrow('permission denied');
  });

  test('are paged so that each conversation is listed once while messages arrive', async () => {
    const own = await hub.workspace();
    const key = hub.client((await own.createKey({ product: 'chat' })).key);
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1)
      ids.push((await key.call('createChatConversation', { body: { name: `c${index}` } })).id);
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await own.session.call('listInboxConversations', {
        params: { tenantId: own.tenantId },
        query: { view: 'unassigned', limit: 5, ...(cursor ? { cursor } : {}) },
      });
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.meta.nextCursor;
      for (const id of ids.slice(0, 4))
        await key.call('sendChatMessage', { params: { id }, body: { content: 'again' } });
    } while (cursor !== null);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  test('need one statement each', async () => {
    using recorder = new StatementRecorder();
    await agents.call('listInboxConversations', { params: params(), query: { view: 'mine' } });
    expect(
      recorder.statements.filter(({ text, tenantId: of }) => of === tenantId && text.includes('chat_conversations')),
    ).toHaveLength(1);
  });

  test('reject an unknown view, filter or cursor', async () => {
    for (const query of [
      { view: 'nice' },
      { view: 'assigned' },
      { view: 'visitor', userId: adminId },
      { cursor: 'AAAA' },
    ])
      await expect(
        agents.call('listInboxConversations', { params: params(), query: query as never }),
      ).rejects.toMatchObject({ status: 400 });
    const first = await agents.call('listInboxConversations', { params: params(), query: { view: 'all', limit: 1 } });
    if (first.meta.nextCursor !== null)
      await expect(
        agents.call('listInboxConversations', {
          params: params(),
          query: { view: 'open', cursor: first.meta.nextCursor },
        }),
      ).rejects.toMatchObject({ code: 'invalid_cursor' });
  });
});

describe('a reply', () => {
  test('is a message of the agent to the visitor; a note is visible to agents only', async () => {
    const id = await open('reply');
    await sendMessage(id, 'hello');
    const reply = await agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'hi' } });
    const note = await agents.call('sendInboxMessage', {
      params: inParams(id),
      body: { content: 'a rude customer', private: true },
    });
    expect(reply).toMatchObject({ seq: 2, position: 2, private: false, senderType: 'agent', senderId: adminId });
    expect(note).toMatchObject({ seq: null, position: 3, private: true });
    await sendMessage(id, 'more');
    const all = await agents.call('listInboxMessages', { params: inParams(id), query: {} });
    expect(all.data.map(({ content, seq, position }) => [content, seq, position])).toEqual([
      ['hello', 1, 1],
      ['hi', 2, 2],
      ['a rude customer', null, 3],
      ['more', 3, 4],
    ]);
    const outside = await chat.call('listChatMessages', { params: { id } });
    expect(outside.data.map(({ content }) => content)).toEqual(['hello', 'hi', 'more']);
    expect(JSON.stringify(await chat.call('listChatConversations', {}))).not.toContain('rude');
  });

  test('that is sent again is the same message, and fifty concurrent ones with one clientId are one message', async () => {
    const id = await open('again');
    const sent = await Promise.all(
      Array.from({ length: 50 }, () =>
        agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'once', clientId: 'a' } }),
      ),
    );
    expect(new Set(sent.map((message) => message.id)).size).toBe(1);
    expect((await agents.call('listInboxMessages', { params: inParams(id), query: {} })).data).toHaveLength(1);
  });

  test('is rejected once if another agent has replied since', async () => {
    const id = await open('newer');
    const { api } = await colleague();
    await sendMessage(id, 'question');
    const first = await api.call('sendInboxMessage', {
      params: inParams(id),
      body: { content: 'theirs', lastSeenSeq: 1 },
    });
    const mine = { content: 'mine', clientId: 'm', lastSeenSeq: 1 };
    await expect(agents.call('sendInboxMessage', { params: inParams(id), body: mine })).rejects.toMatchObject({
      status: 409,
      code: 'newer_reply',
    });
    const sent = await agents.call('sendInboxMessage', {
      params: inParams(id),
      body: { ...mine, lastSeenSeq: first.seq as number },
    });
    expect(sent.seq).toBe(3);
    // A newer reply of the same agent does not block sending.
    await agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'and', lastSeenSeq: 2 } });
  });

  test('to a closed conversation is rejected; a note is accepted', async () => {
    const id = await open('closed');
    await agents.call('updateInboxConversation', { params: inParams(id), body: { status: 'closed' } });
    await expect(
      agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'late' } }),
    ).rejects.toMatchObject({ code: 'conversation_closed' });
    await agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'late', private: true } });
  });

  test('without content, or with an unknown file, is rejected and writes nothing', async () => {
    const id = await open('nothing');
    await expect(
      agents.call('sendInboxMessage', { params: inParams(id), body: { content: '' } }),
    ).rejects.toMatchObject({ details: [{ path: 'body.content' }] });
    await expect(
      agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'x', attachmentIds: [id] } }),
    ).rejects.toMatchObject({ details: [{ path: 'body.attachmentIds' }] });
    expect((await agents.call('getInboxConversation', { params: inParams(id) })).lastPosition).toBe(0);
  });

  test('deletes the draft of its sender, and no other draft', async () => {
    const id = await open('drafts');
    const { api } = await colleague();
    for (const each of [agents, api])
      await each.call('putInboxDraft', { params: inParams(id), body: { content: 'Dear', private: true } });
    expect((await agents.call('getInboxConversation', { params: inParams(id) })).draft).toMatchObject({
      content: 'Dear',
      private: true,
    });
    await agents.call('sendInboxMessage', { params: inParams(id), body: { content: 'Dear Ann' } });
    expect((await agents.call('getInboxConversation', { params: inParams(id) })).draft).toBeNull();
    expect((await api.call('getInboxConversation', { params: inParams(id) })).draft).toMatchObject({ content: 'Dear' });
    await api.call('putInboxDraft', { params: inParams(id), body: { content: '' } });
    expect((await api.call('getInboxConversation', { params: inParams(id) })).draft).toBeNull();
  });
});

describe('the messages of a conversation', () => {
  test('are paged backward from the newest and forward from a position, each message once', async () => {
    const id = await open('pages');
    for (let index = 1; index <= 7; index += 1) await sendMessage(id, `m${index}`);
    const contents = (page: { data: { content: string }[] }) => page.data.map(({ content }) => content);
    const newest = await agents.call('listInboxMessages', { params: inParams(id), query: { limit: 3 } });
    expect(contents(newest)).toEqual(['m5', 'm6', 'm7']);
    const before = await agents.call('listInboxMessages', {
      params: inParams(id),
      query: { limit: 3, before: newest.meta.nextCursor as string },
    });
    expect(contents(before)).toEqual(['m2', 'm3', 'm4']);
    const after = await agents.call('listInboxMessages', { params: inParams(id), query: { limit: 3, after: '0' } });
    expect(contents(after)).toEqual(['m1', 'm2', 'm3']);
    expect(after.meta.nextCursor).toBe('3');
    await expect(
      agents.call('listInboxMessages', { params: inParams(id), query: { after: '1', before: '3' } }),
    ).rejects.toMatchObject({ status: 400 });
  });
});

describe('an assignment', () => {
  test('that lost against a concurrent assignment is rejected with the current assignee', async () => {
    const id = await open('race');
    const one = await colleague();
    const two = await colleague();
    const outcomes = await Promise.allSettled(
      [one, two].map((each) =>
        each.api.call('assignInboxConversation', { params: inParams(id), body: { userId: each.id, from: null } }),
      ),
    );
    const winner = outcomes[0]?.status === 'fulfilled' ? one : two;
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(refused.reason).toMatchObject({ status: 409, code: 'assignment_conflict' });
    expect(String(refused.reason.message)).toContain(winner.email);
    const again = await send(hub.url, 'POST', `/tenants/${tenantId}/chat/conversations/${id}/assign`, {
      headers: { authorization: `Bearer ${workspace.jwt}` },
      body: { userId: one.id, from: null },
    });
    expect(again).toMatchObject({ status: 409, body: { assignedUserId: winner.id } });
    expect((await agents.call('getInboxConversation', { params: inParams(id) })).assignedUserId).toBe(winner.id);
    const theirs = await agents.call('listInboxConversations', {
      params: params(),
      query: { view: 'assigned', userId: winner.id },
    });
    expect(theirs.data.map((each) => each.id)).toEqual([id]);
  });

  test('to a member of another workspace is rejected', async () => {
    const stranger = await colleague(await hub.workspace());
    const id = await open('stranger');
    await expect(
      agents.call('assignInboxConversation', { params: inParams(id), body: { userId: stranger.id } }),
    ).rejects.toMatchObject({ status: 400, details: [{ path: 'body.userId' }] });
  });
});

describe('changes', () => {
  test('of several conversations in one request are published one by one', async () => {
    const ids = [await open('b1'), await open('b2')];
    const foreign = (await (await hub.workspace()).session.call('readMe', {})).tenantId;
    const { results } = await agents.call('changeInboxConversations', {
      params: params(),
      body: { ids: [...ids, foreign], status: 'resolved', priority: 'high', assignedUserId: adminId },
    });
    expect(
      results
        .filter(({ ok }) => ok)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect(results.find(({ ok }) => !ok)).toMatchObject({ id: foreign, code: 'not_found' });
    expect(await agents.call('getInboxConversation', { params: inParams(ids[0] as string) })).toMatchObject({
      status: 'resolved',
      priority: 'high',
      assignedUserId: adminId,
    });
    await expect(agents.call('changeInboxConversations', { params: params(), body: { ids } })).rejects.toMatchObject({
      status: 400,
    });
  });

  test('publish each closing once, and a reopened conversation can be closed again', async () => {
    const id = await open('closings');
    const change = (status: 'open' | 'closed') =>
      agents.call('updateInboxConversation', { params: inParams(id), body: { status } });
    const first = await change('closed');
    await change('closed');
    await change('open');
    await change('closed');
    expect(first.status).toBe('closed');
    const [row] = await hub.database.query('SELECT closings, last_event::int FROM chat_conversations WHERE id = $1', [
      id,
    ]);
    expect(row).toEqual({ closings: 2, last_event: 3 });
  });

  test('end a snooze when the conversation is resolved', async () => {
    const id = await open('rest');
    const snoozedUntil = new Date(Date.now() + 60_000).toISOString();
    const change = (body: object) =>
      agents.call('updateInboxConversation', { params: inParams(id), body: body as never });
    expect((await change({ snoozedUntil })).snoozedUntil).toBe(snoozedUntil);
    expect((await change({ priority: 'urgent' })).snoozedUntil).toBe(snoozedUntil);
    expect((await change({ status: 'resolved' })).snoozedUntil).toBeNull();
    expect(await views('resolved')).toContain(id);
  });
});

test('links and sessions of a conversation can be revoked', async () => {
  const { conversationId } = await chat.call('createChatSession', { body: { externalId: 'linked' } });
  await chat.call('createChatSession', { body: { externalId: 'linked' } });
  expect(await agents.call('revokeInboxLinks', { params: inParams(conversationId) })).toEqual({ revoked: 2 });
  expect(await agents.call('revokeInboxLinks', { params: inParams(conversationId) })).toEqual({ revoked: 0 });
});

test('another workspace cannot find a conversation by any operation', async () => {
  const id = await open('secret');
  const stranger = await hub.workspace();
  const their = { tenantId: stranger.tenantId, id };
  const calls = [
    () => stranger.session.call('getInboxConversation', { params: their }),
    () => stranger.session.call('updateInboxConversation', { params: their, body: { status: 'closed' } }),
    () => stranger.session.call('assignInboxConversation', { params: their, body: { userId: null } }),
    () => stranger.session.call('listInboxMessages', { params: their, query: {} }),
    () => stranger.session.call('sendInboxMessage', { params: their, body: { content: 'x' } }),
    () => stranger.session.call('readInboxConversation', { params: their, body: { seq: 1 } }),
    () => stranger.session.call('putInboxDraft', { params: their, body: { content: 'x' } }),
    () => stranger.session.call('showInboxActivity', { params: their, body: { viewing: true } }),
    () => stranger.session.call('revokeInboxLinks', { params: their }),
    () => stranger.session.call('getInboxConversation', { params: { tenantId, id } }),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ status: 404 });
  expect((await agents.call('getInboxConversation', { params: inParams(id) })).lastPosition).toBe(0);
});
