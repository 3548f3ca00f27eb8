import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../../hub/platform/db/database.ts';
import { PostgresEvents } from '../../hub/platform/events/postgres-events.ts';
import { idBefore } from '../../hub/platform/ids.ts';
import { VisitorSessions } from '../../hub/products/chat/visitor-page/sessions.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { testSecrets } from '../fixtures/secrets.ts';
import { stripFlowSubjects } from '../fixtures/stage/automations.ts';
import {
  addFiles,
  addFirstMessage,
  addMessages,
  addRating,
  ageConversations,
  beginErasure,
  makeVisitorsAnonymous,
  setConversationStatus,
} from '../fixtures/stage/chat.ts';
import { setFlowSubjectProgress } from '../fixtures/stage/core.ts';
import { chatScene } from '../fixtures/visitor.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let agents: TestWorkspace['session'];
let chat: TestWorkspace['api'];
let agentToken: string;
let tenantId: string;
let events: PostgresEvents;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  events = await PostgresEvents.connect(hub.database.url, testSecrets, pino({ level: 'silent' }));
  workspace = await hub.workspace();
  ({ tenantId, session: agents } = workspace);
  chat = hub.client(workspace.keys.chat);
  const email = 'agent.of.people@example.org';
  const password = 'correct horse battery';
  await agents.call('addMember', { params: { tenantId }, body: { email, password, role: 'agent' } });
  agentToken = (await hub.client().call('logIn', { body: { email, password } })).token;
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

const request = (method: string, path: string, token: string | null, body?: unknown, tenant = tenantId) =>
  send(hub.url, method, `/tenants/${tenant}/chat/${path}`, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
  });
const at = (id: string) => ({ tenantId, id });
const sendMessage = (id: string, content: string) =>
  chat.call('sendChatMessage', { params: { id }, body: { content } });
const count = async (table: string, condition: string, value: string) =>
  (
    await hub.database.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table} WHERE ${condition}`, [
      value,
    ])
  )[0]?.count;
/** Adapts a transaction of the hub to the connection type of the fixtures. */
const connectionOf = (tx: Transaction) => ({
  query: (text: string, values: unknown[]) => tx.query('', text, values),
});
let visitors = 0;
/** Creates a visitor with a conversation and a session. */
async function createVisitor(known: object = {}) {
  visitors += 1;
  const externalId = `visitor-${visitors}`;
  const { conversationId } = await chat.call('createChatSession', {
    body: { externalId, displayName: 'Ann', email: 'ann@example.org', ...known },
  });
  const { data } = await chat.call('listChatVisitors', { query: { externalId } });
  const visitorId = data[0]?.id as string;
  const sessions = new VisitorSessions(hub.app.db);
  const { token } = await hub.app.db.workspace(tenantId, (tx) =>
    sessions.begin(tx, tenantId, { visitorId, conversationId }),
  );
  return { externalId, conversationId, visitorId, token, authenticate: () => sessions.authenticate(token) };
}
/** Records chat events of some kinds in the workspace from now on, by conversation. */
function recordEvents(...kinds: string[]) {
  const recordedEvents: string[] = [];
  const subscription = events.subscribe(`chat:${tenantId}`, ({ conversationId, kind }) => {
    if (kinds.includes(String(kind))) recordedEvents.push(`${String(conversationId)} ${String(kind)}`);
  });
  return { recordedEvents: recordedEvents, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
const auditOf = async (targetId: string) =>
  (await agents.call('listAuditLog', { params: { tenantId }, query: { targetId } })).data;

describe('visitors', () => {
  test('are listed newest first in pages, with a filter for blocked visitors', async () => {
    const own = await hub.workspace();
    const key = hub.client(own.keys.chat);
    for (const externalId of ['one', 'two', 'three']) await key.call('createChatSession', { body: { externalId } });
    const list = async (query: object = {}) => {
      const { data, meta } = await own.session.call('listInboxVisitors', { params: { tenantId: own.tenantId }, query });
      return { names: data.map(({ external_id: name }) => name), ids: data.map(({ id }) => id), next: meta.nextCursor };
    };
    const first = await list({ limit: 2 });
    expect(first.names).toEqual(['three', 'two']);
    expect((await list({ limit: 2, cursor: first.next })).names).toEqual(['one']);
    await own.session.call('blockInboxVisitor', { params: { tenantId: own.tenantId, id: first.ids[1] as string } });
    expect((await list({ blocked: 'true' })).names).toEqual(['two']);
    expect((await list({ blocked: 'false' })).names).toEqual(['three', 'one']);
  });

  test('are found by a part of their name, email, phone number or external id, in any letter case, in pages', async () => {
    const own = await hub.workspace();
    const key = hub.client(own.keys.chat);
    for (const [externalId, profile] of [
      ['crm-1', { displayName: 'Maria Lopez' }],
      ['crm-2', { email: 'lopez@example.com' }],
      ['crm-3', { displayName: '100% Lopez_' }],
      ['crm-4', { displayName: 'Someone' }],
    ] as const)
      await key.call('createChatSession', { body: { externalId, ...profile } });
    const find = async (q: string, query: object = {}) => {
      const { data, meta } = await own.session.call('listInboxVisitors', {
        params: { tenantId: own.tenantId },
        query: { q, ...query },
      });
      return { names: data.map(({ external_id: name }) => name), next: meta.nextCursor };
    };
    expect((await find('LOPEZ')).names).toEqual(['crm-3', 'crm-2', 'crm-1']);
    // Characters of patterns are text.
    expect((await find('% lopez_')).names).toEqual(['crm-3']);
    expect((await find('CRM-4', { blocked: 'false' })).names).toEqual(['crm-4']);
    expect((await find('nobody')).names).toEqual([]);
    const first = await find('lopez', { limit: 2 });
    expect((await find('lopez', { limit: 2, cursor: first.next })).names).toEqual(['crm-1']);
    // Visitors of other workspaces are not found.
    const other = await hub.workspace();
    const found = await other.session.call('listInboxVisitors', {
      params: { tenantId: other.tenantId },
      query: { q: 'lopez' },
    });
    expect(found.data).toEqual([]);
  });

  test('are shown with their newest twenty conversations, without notes and other visitors', async () => {
    const { visitorId, externalId, conversationId } = await createVisitor();
    await createVisitor();
    const ids = [conversationId];
    for (let n = 0; n < 21; n += 1)
      ids.push((await chat.call('createChatConversation', { body: { name: `${n}`, visitor: { externalId } } })).id);
    await sendMessage(conversationId, 'moves up');
    const shown = await agents.call('getInboxVisitor', { params: at(visitorId) });
    expect(shown).toMatchObject({ external_id: externalId, verified: true, blocked_at: null, display_name: 'Ann' });
    expect(shown.conversations.map(({ id }) => id)).toEqual([conversationId, ...ids.slice(3).toReversed()]);
    expect(shown.conversations[0]).toMatchObject({ lastMessage: { content: 'moves up' }, visitorName: 'Ann' });
  });

  test('are updated with the given fields, null removes a field, attributes merge, and agents receive an event', async () => {
    const { visitorId, conversationId } = await createVisitor({ attributes: { plan: 'pro', seats: 3 } });
    using told = recordEvents('conversation');
    const changed = await agents.call('updateInboxVisitor', {
      params: at(visitorId),
      body: { displayName: 'Anna', phone: '+49 30 1234', attributes: { seats: null, team: 'x' } },
    });
    expect(changed).toMatchObject({ display_name: 'Anna', email: 'ann@example.org', phone: '+49 30 1234' });
    expect(changed.attributes).toEqual({ plan: 'pro', team: 'x' });
    await expect.poll(() => told.recordedEvents).toContain(`${conversationId} conversation`);
    expect(await agents.call('updateInboxVisitor', { params: at(visitorId), body: { email: null } })).toMatchObject({
      display_name: 'Anna',
      email: null,
    });
    const lines = await auditOf(visitorId);
    expect(lines[1]).toMatchObject({
      action: 'visitor.updated',
      details: { changed: ['displayName', 'phone', 'attributes'] },
    });
    expect(JSON.stringify(lines)).not.toContain('Anna');
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, n) => [`k${n}`, n]));
    const full = await request('PATCH', `visitors/${visitorId}`, agentToken, { displayName: 'No', attributes: many });
    expect(full).toMatchObject({ status: 400, body: { details: [{ path: 'body.attributes' }] } });
    expect(await agents.call('getInboxVisitor', { params: at(visitorId) })).toMatchObject({ display_name: 'Anna' });
  });

  test('who are blocked receive an error for every link and session, old or new, until they are unblocked', async () => {
    const { visitorId, conversationId, externalId, authenticate } = await createVisitor();
    const second = (await chat.call('createChatConversation', { body: { name: 'x', visitor: { externalId } } })).id;
    expect((await authenticate()).visitorId).toBe(visitorId);
    using told = recordEvents('access');
    const blocked = await agents.call('blockInboxVisitor', { params: at(visitorId) });
    expect(blocked.blocked_at).not.toBeNull();
    await expect
      .poll(() => told.recordedEvents.toSorted())
      .toEqual([`${conversationId} access`, `${second} access`].toSorted());
    await expect(authenticate()).rejects.toMatchObject({ code: 'visitor_blocked' });
    const mint = () =>
      send(hub.url, 'POST', '/v1/chat/sessions', {
        headers: { 'x-api-key': workspace.keys.chat as string },
        body: { externalId, displayName: 'Renamed' },
      });
    expect((await mint()).body).toMatchObject({ statusCode: 403, code: 'visitor_blocked' });
    expect(await agents.call('getInboxVisitor', { params: at(visitorId) })).toMatchObject({ display_name: 'Ann' });
    expect(await agents.call('blockInboxVisitor', { params: at(visitorId) })).toMatchObject({
      blocked_at: blocked.blocked_at,
    });
    expect(await agents.call('unblockInboxVisitor', { params: at(visitorId) })).toMatchObject({ blocked_at: null });
    expect((await mint()).status).toBe(200);
    expect((await authenticate()).visitorId).toBe(visitorId);
    expect((await auditOf(visitorId)).map(({ action }) => action)).toEqual([
      'visitor.unblocked',
      'visitor.blocked',
      'visitor.blocked',
    ]);
  });

  test('who are blocked while links are created for them cannot use any link', async () => {
    const { visitorId, externalId } = await createVisitor();
    const mints = Array.from({ length: 20 }, () =>
      chat.call('createChatSession', { body: { externalId } }).catch((error: unknown) => error as Error),
    );
    const [, ...minted] = await Promise.all([agents.call('blockInboxVisitor', { params: at(visitorId) }), ...mints]);
    for (const link of minted) {
      if (link instanceof Error) continue;
      const body = { siteKey: link.siteKey, token: link.visitorToken };
      expect((await send(hub.url, 'POST', '/widget/v1/token', { body })).body).toMatchObject({
        code: 'visitor_blocked',
      });
    }
    expect(
      (
        await send(hub.url, 'POST', '/v1/chat/sessions', {
          headers: { 'x-api-key': workspace.keys.chat as string },
          body: { externalId },
        })
      ).body,
    ).toMatchObject({ code: 'visitor_blocked' });
  });

  test('are found only by agents of their workspace, and exported and erased by its admins', async () => {
    const { visitorId } = await createVisitor();
    const otherWorkspace = await hub.workspace();
    const one = `visitors/${visitorId}`;
    const operations = [
      ['GET', 'visitors', undefined, 'agent'],
      ['GET', one, undefined, 'agent'],
      ['PATCH', one, { displayName: 'x' }, 'agent'],
      ['POST', `${one}/block`, undefined, 'agent'],
      ['POST', `${one}/unblock`, undefined, 'agent'],
      ['GET', 'ratings', undefined, 'agent'],
      ['GET', `${one}/export`, undefined, 'admin'],
      ['DELETE', one, undefined, 'admin'],
    ] as const;
    for (const [method, path, body, role] of operations) {
      const title = `${method} ${path}`;
      expect((await request(method, path, null, body)).status, title).toBe(401);
      expect((await request(method, path, otherWorkspace.jwt, body)).status, title).toBe(404);
      if (path.startsWith(one)) {
        expect((await request(method, path, otherWorkspace.jwt, body, otherWorkspace.tenantId)).status, title).toBe(
          404,
        );
        expect((await request(method, path.replace(visitorId, missingId), workspace.jwt, body)).status, title).toBe(
          404,
        );
      }
      if (role === 'admin')
        expect((await request(method, path, agentToken, body)).body, title).toMatchObject({ code: 'role_required' });
    }
    expect(await agents.call('getInboxVisitor', { params: at(visitorId) })).toMatchObject({ blocked_at: null });
  });

  test.each([
    ['GET', 'visitors?blocked=perhaps', undefined],
    ['GET', 'visitors?limit=101', undefined],
    ['GET', 'visitors?cursor=none', undefined],
    ['GET', 'visitors/none', undefined],
    ['PATCH', `visitors/${missingId}`, { displayName: '' }],
    ['PATCH', `visitors/${missingId}`, { email: 'no' }],
    ['PATCH', `visitors/${missingId}`, { externalId: 'mine' }],
    ['POST', 'visitors/none/block', undefined],
    ['POST', 'visitors/none/unblock', undefined],
    ['GET', 'visitors/none/export', undefined],
    ['DELETE', 'visitors/none', undefined],
    ['GET', 'ratings?cursor=none', undefined],
  ])('%s %s with %j is rejected', async (method, path, body) => {
    expect((await request(method, path, workspace.jwt, body)).status).toBe(400);
  });
});

describe('an export', () => {
  test('contains the visitor with every conversation, message and rating, and no private note', async () => {
    const { visitorId, conversationId, externalId } = await createVisitor();
    for (let n = 1; n <= 205; n += 1) await sendMessage(conversationId, `message ${n}`);
    await agents.call('sendInboxMessage', {
      params: at(conversationId),
      body: { content: 'our secret', private: true },
    });
    const second = (await chat.call('createChatConversation', { body: { name: 'second', visitor: { externalId } } }))
      .id;
    await sendMessage(second, 'last');
    await addRating(hub.database, { tenantId, conversationId }, { score: 5, comment: 'fine' });
    const answer = await request('GET', `visitors/${visitorId}/export`, workspace.jwt);
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson');
    expect(answer.headers.get('content-disposition')).toContain('attachment');
    const lines = answer.text
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(lines.map(({ type }) => type)).toEqual([
      'visitor',
      'conversation',
      ...Array.from({ length: 205 }, () => 'message'),
      'rating',
      'conversation',
      'message',
    ]);
    expect(lines[0]).toMatchObject({ id: visitorId, external_id: externalId, email: 'ann@example.org' });
    expect(lines.slice(2, 207).map(({ content }) => content)).toEqual(
      Array.from({ length: 205 }, (_, n) => `message ${n + 1}`),
    );
    expect(lines[207]).toMatchObject({ conversationId, score: 5, comment: 'fine' });
    expect(answer.text).not.toContain('our secret');
    expect(await auditOf(visitorId)).toMatchObject([{ action: 'visitor.exported', details: {} }]);
  });
});

describe('ratings', () => {
  test('are listed newest first in pages', async () => {
    const own = await hub.workspace();
    const key = hub.client(own.keys.chat);
    const { id } = await key.call('createChatConversation', { body: { name: 'rated' } });
    for (const score of [1, 2, 3])
      await addRating(
        hub.database,
        { tenantId: own.tenantId, conversationId: id },
        { closing: score, score, comment: 'so' },
      );
    const params = { tenantId: own.tenantId };
    const first = await own.session.call('listChatRatings', { params, query: { limit: 2 } });
    expect(first.data).toMatchObject([
      { conversationId: id, score: 3, comment: 'so' },
      { conversationId: id, score: 2 },
    ]);
    const cursor = first.meta.nextCursor as string;
    const second = await own.session.call('listChatRatings', { params, query: { limit: 2, cursor } });
    expect(second).toMatchObject({ data: [{ score: 1 }], meta: { nextCursor: null } });
  });
});

describe('erasing a visitor', () => {
  const left = (visitorId: string, conversationId: string) =>
    Promise.all([
      count('chat_visitors', 'id = $1', visitorId),
      count('chat_conversations', 'visitor_id = $1', visitorId),
      ...['chat_messages', 'chat_files', 'chat_ratings', 'chat_drafts', 'chat_links', 'chat_sessions'].map((table) =>
        count(table, 'conversation_id = $1', conversationId),
      ),
    ]);
  const nothing = [0, 0, 0, 0, 0, 0, 0, 0];

  test('deletes everything except an audit log entry, notifies connected agents, and leaves other visitors unchanged', async () => {
    const bystander = await createVisitor();
    await sendMessage(bystander.conversationId, 'stays');
    const { visitorId, conversationId, externalId } = await createVisitor({ displayName: 'Forget Me' });
    await sendMessage(conversationId, 'to be forgotten');
    await agents.call('putInboxDraft', { params: at(conversationId), body: { content: 'draft' } });
    await addFiles(hub.database, { tenantId, conversationId });
    await addRating(hub.database, { tenantId, conversationId }, { score: 5, comment: 'x' });
    expect(await left(visitorId, conversationId)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    using told = recordEvents('access', 'removed');
    expect(await agents.call('eraseInboxVisitor', { params: at(visitorId) })).toEqual({ id: visitorId, deleted: true });
    expect(await left(visitorId, conversationId)).toEqual(nothing);
    await expect.poll(() => told.recordedEvents).toEqual([`${conversationId} access`, `${conversationId} removed`]);
    const lines = await auditOf(visitorId);
    expect(lines).toMatchObject([{ action: 'visitor.erased', targetType: 'visitor', details: {} }]);
    expect(JSON.stringify(lines)).not.toContain('Forget');
    expect((await request('DELETE', `visitors/${visitorId}`, workspace.jwt)).status).toBe(404);
    expect(await count('chat_messages', 'conversation_id = $1', bystander.conversationId)).toBe(1);
    const again = await chat.call('createChatSession', { body: { externalId } });
    expect(again.conversationId).not.toBe(conversationId);
  });

  test('also deletes messages and conversations that are written meanwhile', async () => {
    const { visitorId, conversationId, externalId } = await createVisitor();
    let refused = 0;
    let written = 0;
    const write = async () => {
      for (;;) {
        try {
          await sendMessage(conversationId, 'still writing');
          written += 1;
        } catch (error) {
          expect(error).toMatchObject({ status: 404 });
          refused += 1;
          return;
        }
      }
    };
    const writers = Array.from({ length: 4 }, write);
    await expect.poll(() => written).toBeGreaterThan(8);
    const newSessions = Array.from({ length: 5 }, () => chat.call('createChatSession', { body: { externalId } }));
    await agents.call('eraseInboxVisitor', { params: at(visitorId) });
    await Promise.all(writers);
    expect(refused).toBe(4);
    expect(await left(visitorId, conversationId)).toEqual(nothing);
    // Conversations of the erased visitor no longer exist. A later conversation has a new visitor, and no conversation is
    // without one.
    for (const { conversationId: id } of await Promise.all(newSessions)) {
      const [row] = await hub.database.query<{ visitor_id: string }>(
        'SELECT visitor_id FROM chat_conversations WHERE id = $1',
        [id],
      );
      if (row !== undefined) expect(row.visitor_id).not.toBe(visitorId);
    }
  });

  test('waits for concurrent writers, and deletes what they wrote', async () => {
    const { visitorId, conversationId } = await createVisitor();
    const written = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const writing = hub.app.db.workspace(tenantId, async (tx) => {
      await tx.query('', 'SELECT FROM chat_conversations WHERE id = $1 FOR NO KEY UPDATE', [conversationId]);
      locked.resolve();
      await addFirstMessage(connectionOf(tx), { tenantId, conversationId }, 'late');
      await written.promise;
    });
    await locked.promise;
    const erasing = agents.call('eraseInboxVisitor', { params: at(visitorId) });
    await expect
      .poll(() =>
        count(
          'pg_stat_activity',
          `datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`,
          'chat_conversations',
        ),
      )
      .toBeGreaterThan(0);
    written.resolve();
    await Promise.all([writing, erasing]);
    expect(await left(visitorId, conversationId)).toEqual(nothing);
  });

  test('ends the runs that their messages started, and deletes their data from every table', async () => {
    const word = 'Schmetterlingsflügel';
    const { id: child } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'child of a chat',
        active: true,
        triggerJson: { schemaVersion: 1, type: 'manual' },
        stepsJson: [{ type: 'log', message: 'child heard {{context}}' }],
      },
    });
    const { id: handler } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'errors of a chat',
        active: true,
        triggerJson: { schemaVersion: 1, type: 'manual' },
        stepsJson: [{ type: 'log', message: 'failed: {{payload.run.error.message}}' }],
      },
    });
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: handler } });
    const follow = (stepsJson: object[]) =>
      workspace.api.call('createAutomationWorkflow', {
        body: {
          name: 'follows a chat',
          active: true,
          triggerJson: {
            schemaVersion: 1,
            type: 'event',
            event: { type: 'message.created', filter: { 'message.content': word } },
          },
          stepsJson: stepsJson as never,
        },
      });
    const followers = [
      await follow([
        { type: 'log', message: 'heard {{payload.message.content}}' },
        {
          type: 'skill',
          skillId: 'subagent.spawn',
          input: { workflowId: child, context: '{{payload.message.content}}' },
        },
      ]),
      await follow([{ type: 'approval', title: 'Answer?', message: 'They wrote {{payload.message.content}}' }]),
      await follow([
        { type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://{{payload.message.content}}/' } },
      ]),
    ];
    const bystander = await createVisitor();
    const { visitorId, conversationId } = await createVisitor({ displayName: word });
    await sendMessage(conversationId, word);
    await sendMessage(bystander.conversationId, word);
    const statuses = async () =>
      (await hub.database.query<{ status: string }>('SELECT status FROM runs ORDER BY status')).map(
        ({ status }) => status,
      );
    await expect
      .poll(statuses)
      .toEqual([...Array(2).fill('failed'), ...Array(6).fill('succeeded'), ...Array(2).fill('waiting_approval')]);
    const tablesWith = async (text: string) => {
      const tables = await hub.database.query<{ name: string }>(
        `SELECT format('%I', relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
      );
      const found = await Promise.all(
        tables.map(async ({ name }) => {
          const [row] = await hub.database.query<{ count: number }>(
            `SELECT count(*)::int AS count FROM ${name} t WHERE t::text LIKE '%' || $1 || '%'`,
            [text],
          );
          return [name, row?.count ?? 0] as const;
        }),
      );
      return Object.fromEntries(found.filter(([, rows]) => rows > 0));
    };
    const { data: asked } = await workspace.api.call('listAutomationApprovals', { query: { status: 'pending' } });
    expect(asked).toHaveLength(2);
    await agents.call('eraseInboxVisitor', { params: at(bystander.visitorId) });
    await agents.call('eraseInboxVisitor', { params: at(visitorId) });
    // Approvals that were decided before the erasure are erased as well.
    for (const { id } of asked)
      await expect(
        workspace.api.call('decideAutomationApproval', { params: { id }, body: { decision: 'approved' } }),
      ).rejects.toMatchObject({ code: expect.stringMatching(/^(?:not_found|approval_already_decided)$/) as string });
    await expect.poll(() => count('runs', 'tenant_id = $1', tenantId)).toBe(0);
    for (const { id } of followers) await workspace.api.call('deleteAutomationWorkflow', { params: { id } });
    await workspace.api.call('putAutomationPolicy', { body: {} });
    // Text that the author wrote into a workflow does not belong to the visitor.
    expect(Object.keys(await tablesWith(word)).filter((name) => !name.startsWith('workflow'))).toEqual([]);
    await expect.poll(() => count('erased_subjects', 'tenant_id = $1', tenantId)).toBe(0);
  });

  test('ends runs of earlier versions without a stored visitor, and their child runs, before and after the visitor is known', async () => {
    const { id: child } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'child of before',
        active: true,
        triggerJson: { schemaVersion: 1, type: 'manual' },
        stepsJson: [{ type: 'log', message: 'heard {{context}}' }],
      },
    });
    const { id: follower } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'of before',
        active: true,
        triggerJson: {
          schemaVersion: 1,
          type: 'event',
          event: { type: 'message.created', filter: { 'message.content': 'from before' } },
        },
        stepsJson: [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child, context: 'from before' } }],
      },
    });
    const [found, unknown, kept] = [await createVisitor(), await createVisitor(), await createVisitor()];
    for (const { conversationId } of [found, unknown, kept]) await sendMessage(conversationId, 'from before');
    const runs = () => count('runs', `tenant_id = $1 AND finished_at IS NOT NULL`, tenantId);
    await expect.poll(runs).toBe(6);
    const subjects = async () =>
      (
        await hub.database.query<{ id: string | null }>(
          `SELECT payload->'conversation'->>'id' AS id FROM runs WHERE tenant_id = $1`,
          [tenantId],
        )
      ).map(({ id }) => id);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    // The rows of an earlier version, an hour old and not yet processed.
    await setFlowSubjectProgress(hub.database, { until, after: idBefore(new Date(Date.now() + 3_600_000)) });
    await stripFlowSubjects(hub.database, tenantId, idBefore(new Date(Date.now() - 3_600_000)).slice(0, 13));
    await agents.call('eraseInboxVisitor', { params: at(unknown.visitorId) });
    await hub.app.sweep();
    expect(await subjects()).toHaveLength(6);
    await setFlowSubjectProgress(hub.database, { until, after: idBefore(new Date(0)) });
    await hub.app.sweep();
    await expect.poll(async () => (await subjects()).length).toBe(4);
    expect(await subjects()).not.toContain(unknown.conversationId);
    await agents.call('eraseInboxVisitor', { params: at(found.visitorId) });
    await expect.poll(async () => (await subjects()).length).toBe(2);
    expect(await subjects()).toContain(kept.conversationId);
    // After the end of this task, nothing is read or recorded any more.
    await setFlowSubjectProgress(hub.database, { until: new Date(0).toISOString(), after: idBefore(new Date(0)) });
    await hub.app.sweep();
    expect(await hub.database.query(`SELECT value FROM hub_settings WHERE key = 'flow_subjects'`)).toEqual([
      { value: {} },
    ]);
    expect(await count('erased_subjects', 'tenant_id = $1', tenantId)).toBe(0);
    await workspace.api.call('deleteAutomationWorkflow', { params: { id: follower } });
    await agents.call('eraseInboxVisitor', { params: at(kept.visitorId) });
  });

  test('continues after its process crashed, and hides a partially erased visitor', async () => {
    const { visitorId, conversationId } = await createVisitor();
    await sendMessage(conversationId, 'half');
    await beginErasure(hub.database, visitorId);
    expect((await request('GET', `visitors/${visitorId}`, workspace.jwt)).status).toBe(404);
    for (const path of ['visitors', 'visitors?blocked=false'])
      expect((await request('GET', path, workspace.jwt)).text).not.toContain(visitorId);
    const { data } = await chat.call('listChatVisitors', {});
    expect((data as { id: string }[]).map(({ id }) => id)).not.toContain(visitorId);
    await hub.app.sweep();
    expect(await left(visitorId, conversationId)).toEqual(nothing);
  });

  test('deletes conversations with more messages than one batch', async () => {
    const { visitorId, conversationId } = await createVisitor();
    await addMessages(hub.database, conversationId, { count: 12_000, content: 'x' });
    await agents.call('eraseInboxVisitor', { params: at(visitorId) });
    expect(await left(visitorId, conversationId)).toEqual(nothing);
  });
});

describe('retention', () => {
  test('erases expired resolved and closed conversations with their files, and anonymous visitors without other conversations', async () => {
    const own = await hub.workspace();
    const key = hub.client(own.keys.chat);
    const params = { tenantId: own.tenantId };
    const make = async (status: 'open' | 'pending' | 'resolved' | 'closed', days: number, externalId: string) => {
      const { id } = await key.call('createChatConversation', { body: { name: 'x', visitor: { externalId } } });
      await key.call('sendChatMessage', { params: { id }, body: { content: 'x' } });
      await addFiles(hub.database, { tenantId: own.tenantId, conversationId: id });
      await setConversationStatus(hub.database, [id], status);
      await ageConversations(hub.database, [id], { days });
      return id;
    };
    const old = await make('closed', 31, 'known');
    const oldResolved = await make('resolved', 31, 'known');
    const oldOfAnonymous = await make('closed', 31, 'anonymous');
    const oldOfBusyAnonymous = await make('closed', 31, 'busy anonymous');
    const kept = [
      await make('closed', 29, 'known'),
      await make('pending', 31, 'known'),
      await make('open', 31, 'busy anonymous'),
    ];
    await makeVisitorsAnonymous(hub.database, own.tenantId, 'anonymous');
    const all = async () =>
      (
        await hub.database.query<{ id: string }>('SELECT id FROM chat_conversations WHERE tenant_id = $1 ORDER BY id', [
          own.tenantId,
        ])
      ).map(({ id }) => id);
    await hub.app.sweep();
    expect(await all()).toEqual([old, oldResolved, oldOfAnonymous, oldOfBusyAnonymous, ...kept]);

    await own.session.call('putChatSettings', { params, body: { retentionDays: 30 } });
    await hub.app.sweep();
    expect(await all()).toEqual(kept);
    expect(await count('chat_messages', 'tenant_id = $1', own.tenantId)).toBe(3);
    expect(await count('chat_files', 'tenant_id = $1', own.tenantId)).toBe(3);
    const { data } = await own.session.call('listInboxVisitors', { params, query: {} });
    expect(data.map(({ external_id: known, display_name: name }) => known ?? name).toSorted()).toEqual([
      'busy anonymous',
      'known',
    ]);
  });

  test('erases conversations without a message for a day, and their anonymous visitors', async () => {
    const scene = await chatScene(hub);
    await scene.set({ allowAnonymous: true });
    const begin = async () =>
      (await hub.client().call('openVisitorSession', { body: { siteKey: scene.siteKey } })).conversation.id;
    const [empty, young, written] = [await begin(), await begin(), await begin()];
    await scene.workspace.session.call('sendInboxMessage', {
      params: { tenantId: scene.tenantId, id: written },
      body: { content: 'seen', private: true },
    });
    await ageConversations(hub.database, [empty, written], { hours: 25 });
    await hub.app.sweep();
    const left = await hub.database.query<{ id: string }>(
      `SELECT id FROM chat_conversations WHERE tenant_id = $1 AND source = 'widget' ORDER BY id`,
      [scene.tenantId],
    );
    expect(left.map(({ id }) => id)).toEqual([young, written]);
    expect(await count('chat_visitors', 'external_id IS NULL AND tenant_id = $1', scene.tenantId)).toBe(2);
  });

  test('does not affect other workspaces and conversations that receive a message now', async () => {
    const own = await hub.workspace();
    const key = hub.client(own.keys.chat);
    const { id } = await key.call('createChatConversation', { body: { name: 'x' } });
    const elsewhere = (await chat.call('createChatConversation', { body: { name: 'x' } })).id;
    await setConversationStatus(hub.database, [id, elsewhere], 'closed');
    await ageConversations(hub.database, [id, elsewhere], { days: 40 });
    const [locked, swept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const busy = hub.app.db.workspace(own.tenantId, async (tx) => {
      await setConversationStatus(connectionOf(tx), [id], 'open');
      locked.resolve();
      await swept.promise;
    });
    await locked.promise;
    await own.session.call('putChatSettings', { params: { tenantId: own.tenantId }, body: { retentionDays: 30 } });
    await hub.app.sweep();
    swept.resolve();
    await busy;
    await hub.app.sweep();
    expect(await count('chat_conversations', 'id = $1', id)).toBe(1);
    expect(await count('chat_conversations', 'id = $1', elsewhere)).toBe(1);
  });
});

test('erasing a visitor also deletes stored Idempotency-Key responses about the visitor, without repeating their requests', async () => {
  const own = await hub.workspace();
  const post = (body: object) =>
    send(hub.url, 'POST', '/v1/chat/sessions', {
      headers: { 'x-api-key': own.keys.chat as string, 'idempotency-key': 'erase-me' },
      body,
    });
  const body = { externalId: 'subject', email: 'subject@example.org', displayName: 'Subject' };
  const first = await post(body);
  expect(first.status).toBe(200);
  expect((await post(body)).body).toEqual(first.body);
  const { data } = await own.session.call('listInboxVisitors', { params: { tenantId: own.tenantId } });
  await own.session.call('eraseInboxVisitor', {
    params: { tenantId: own.tenantId, id: data[0]?.id as string },
  });
  const again = await post(body);
  expect(again).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(JSON.stringify(again.body)).not.toContain('subject');
  const { data: left } = await own.session.call('listInboxVisitors', { params: { tenantId: own.tenantId } });
  expect(left).toEqual([]);
});
