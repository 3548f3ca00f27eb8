import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { MessageWriter } from '../../hub/products/chat/conversations/index.ts';
import { ChatEvents } from '../../hub/products/chat/events/index.ts';
import { chatCloseCodes, visitorProtocol } from '../../shared/contract/chat/live.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { beginVisitors, makeConversations, openAgent, openVisitor, seqsOf, textsOf } from '../fixtures/live-chat.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import {
  addAgent,
  ageAssignments,
  assignAllConversations,
  assignConversation,
  blockVisitorOf,
  closeAllConversations,
  endSnoozes,
  expireVisitorSessions,
  removeAgents,
  removeConversation,
  removeVisitorSessions,
  resolveConversationsOf,
  setAgentsSeen,
  setAutoAssignment,
  setConversationsAside,
  snoozeConversation,
} from '../fixtures/stage/chat.ts';
import { removeUser } from '../fixtures/stage/core.ts';
import { explainAll, planRulesOf, StatementRecorder } from '../fixtures/statement-plans.ts';

/** Two hubs on one database. */
let database: TestDatabase;
let here: TestHub;
let there: TestHub;
let workspace: TestWorkspace;
const env = { RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' };
beforeAll(async () => {
  database = await acquireDatabase();
  here = await startHub(env, database);
  there = await startHub(env, database);
  workspace = await here.workspace();
});
afterAll(async () => {
  await there[Symbol.asyncDispose]();
  await here[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const password = 'correct horse battery';
let people = 0;
/** Creates a conversation of a visitor and a session token for it. */
async function createConversation(own = workspace) {
  people += 1;
  const chat = here.client(own.keys.chat as string);
  const { conversationId: id } = await chat.call('createChatSession', { body: { externalId: `person ${people}` } });
  const [token = ''] = await beginVisitors(database, own.tenantId, [id]);
  const sendMessage = (content: string, hub = here) =>
    hub.client(own.keys.chat as string).call('sendChatMessage', { params: { id }, body: { content } });
  return { id, token, sendMessage: sendMessage };
}
async function join(own = workspace) {
  const email = `agent.${process.hrtime.bigint()}@example.org`;
  const { id } = await own.session.call('addMember', {
    params: { tenantId: own.tenantId },
    body: { email, password, role: 'agent' },
  });
  const { token } = await here.client().call('logIn', { body: { email, password } });
  return { id, email, token, client: here.client(token) };
}
/** Makes a change without notifications, so that processes notice it only by polling. */
async function changeSilently(change: () => Promise<unknown>): Promise<void> {
  await database.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'outrigger-events' AND datname = current_database()",
  );
  await change();
}
const setAssignment = async (own: TestWorkspace, given: object) => {
  await here.client(own.keys.chat as string).call('createChatSession', { body: { externalId: 'first of all' } });
  await setAutoAssignment(database, own.tenantId, { enabled: true, capacity: 3, returnToPool: true, ...given });
  await closeAllConversations(database, own.tenantId);
};
const assigneesOf = async (own: TestWorkspace) =>
  (
    await database.query<{ user: string | null }>(
      `SELECT assigned_user_id AS user FROM chat_conversations WHERE tenant_id = $1 AND status = 'open' ORDER BY id`,
      [own.tenantId],
    )
  ).map(({ user }) => user);

describe('the live connection of a visitor', () => {
  test('sends missed messages and then new ones, on each process, each once and in order', async () => {
    const { token, sendMessage } = await createConversation();
    for (let n = 1; n <= 120; n += 1) await sendMessage(String(n));
    const pages = [
      await openVisitor(here.url, token, 0),
      await openVisitor(there.url, token, 118),
      await openVisitor(here.url, token, 1_000),
    ];
    expect(pages.map(({ socket }) => socket.protocol)).toEqual(Array.from(pages, () => visitorProtocol));
    await Promise.all(Array.from({ length: 30 }, (_, n) => sendMessage(`more ${n}`, n % 2 === 0 ? here : there)));
    const from = (first: number) => Array.from({ length: 151 - first }, (_, n) => first + n);
    await expect.poll(() => pages.map(seqsOf)).toEqual([from(1), from(119), from(121)]);
    expect(pages[0]?.frames.map(({ type }) => type)).toEqual(expect.arrayContaining(['conversation', 'sync']));
    for (const page of pages) page.end();
  });

  test('sends messages that were written while notifications were lost', async () => {
    const { token, sendMessage } = await createConversation();
    const page = await openVisitor(here.url, token);
    await sendMessage('first');
    await expect.poll(() => textsOf(page)).toEqual(['first']);
    await changeSilently(() => sendMessage('second', there));
    await expect.poll(() => textsOf(page)).toEqual(['first', 'second']);
    await sendMessage('third', there);
    await expect.poll(() => textsOf(page)).toEqual(['first', 'second', 'third']);
    page.end();
  });

  test('never sends a note; an agent receives it in order', async () => {
    const { id, token, sendMessage } = await createConversation();
    const page = await openVisitor(here.url, token);
    const agent = await openAgent(there.url, workspace.tenantId, workspace.jwt);
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    await sendMessage('before');
    const writer = new MessageWriter(new ChatEvents());
    await here.app.db.workspace(workspace.tenantId, (tx) =>
      writer.write(
        tx,
        workspace.tenantId,
        id,
        { content: 'secret', senderType: 'agent', senderId: null, private: true },
        { actor: 'user:x', environment: 'live' },
      ),
    );
    await sendMessage('after');
    await expect.poll(() => textsOf(agent)).toEqual(['before', 'secret', 'after']);
    await expect.poll(() => textsOf(page)).toEqual(['before', 'after']);
    const again = await openVisitor(there.url, token);
    await expect.poll(() => textsOf(again)).toEqual(['before', 'after']);
    expect(JSON.stringify([page.frames, again.frames])).not.toContain('secret');
    for (const one of [page, again, agent]) one.end();
  });

  test('is an event stream where WebSockets are blocked, and resumes after the last event', async () => {
    const { token, sendMessage } = await createConversation();
    for (const text of ['one', 'two']) await sendMessage(text);
    const texts = (stream: { received: { event: string; data: object }[] }) =>
      stream.received.flatMap(({ event, data }) =>
        event === 'message' ? [(data as { message: { content: string } }).message.content] : [],
      );
    const first = await openStream(`${here.url}/widget/v1/events?after=1`, token);
    await sendMessage('three', there);
    await expect.poll(() => texts(first)).toEqual(['two', 'three']);
    first.end();
    expect(first.lastEventId).toBe('3');
    await sendMessage('four');
    const second = await openStream(`${there.url}/widget/v1/events`, token, first.lastEventId);
    await sendMessage('five');
    await expect.poll(() => texts(second)).toEqual(['four', 'five']);
    second.end();
  });

  test.each([
    ['is removed', (id: string) => removeVisitorSessions(database, id)],
    ['is over', (id: string) => expireVisitorSessions(database, { conversationId: id })],
    ['is of a visitor who is blocked', (id: string) => blockVisitorOf(database, id)],
  ])('is closed on both processes once the session %s, also without a notification', async (_what, change) => {
    const { id, token } = await createConversation();
    const other = await createConversation();
    const pages = [await openVisitor(here.url, token), await openVisitor(there.url, token)];
    const bystander = await openVisitor(here.url, other.token);
    await change(id);
    await expect.poll(() => pages.map(({ closed }) => closed)).toEqual([4401, 4401]);
    expect(bystander.closed).toBeNull();
    bystander.end();
  });

  test('is opened only by pages of the hub, and only with valid tokens', async () => {
    const { token } = await createConversation();
    const own = await openVisitor(here.url, token, 0, { origin: here.url });
    own.end();
    for (const origin of ['https://elsewhere.example', 'null', here.url.replace('127.0.0.1', 'localhost')])
      await expect(openVisitor(here.url, token, 0, { origin })).rejects.toThrow('403');
    await expect(openVisitor(here.url, 'cvs_made-up')).rejects.toThrow('401');
    await expect(openVisitor(here.url, workspace.jwt)).rejects.toThrow('401');
    await expect(openAgent(here.url, workspace.tenantId, token)).rejects.toThrow('401');
    const otherWorkspace = await here.workspace();
    await expect(openAgent(here.url, workspace.tenantId, otherWorkspace.jwt)).rejects.toThrow('404');
  });

  test('is closed for invalid, too many or too large frames, and not for unknown types', async () => {
    const { token } = await createConversation();
    const close = async (work: (socket: WebSocket) => void) => {
      const page = await openVisitor(here.url, token, null);
      work(page.socket);
      await expect.poll(() => page.closed).not.toBeNull();
      return page.closed;
    };
    for (const text of ['no json', '[]', '{"type":"hello","after":-1}', '{"a":1}'])
      expect(await close((socket) => socket.send(text))).toBe(4400);
    expect(await close((socket) => socket.send(Buffer.from('{"type":"x"}')))).toBe(4400);
    expect(await close((socket) => socket.send('x'.repeat(70_000)))).toBe(1009);
    const page = await openVisitor(here.url, token);
    page.send({ type: 'of tomorrow' });
    await expect.poll(() => page.frames.some(({ type }) => type === 'sync')).toBe(true);
    // More than 20 of them are in one window, also when a window ends between them.
    for (let n = 0; n < 41; n += 1) page.send({ type: 'typing', typing: true });
    await expect.poll(() => page.closed).toBe(4429);
  });

  test('is closed when its client does not read, and delivers everything after a reconnect', async () => {
    const { token, sendMessage } = await createConversation();
    const page = await openVisitor(here.url, token);
    await expect.poll(() => page.frames.some(({ type }) => type === 'sync')).toBe(true);
    page.socket.pause();
    const long = '😀'.repeat(10_000);
    // More than the buffers of the operating system hold.
    const count = 400;
    for (let n = 0; n < count / 20; n += 1) await Promise.all(Array.from({ length: 20 }, () => sendMessage(long)));
    page.socket.resume();
    await expect.poll(() => page.closed).not.toBeNull();
    const seen = seqsOf(page);
    expect(seen.length).toBeLessThan(count);
    expect(seen).toEqual(Array.from(seen, (_, n) => n + 1));
    const again = await openVisitor(here.url, token, seen.length);
    await expect.poll(() => seqsOf(again).at(-1)).toBe(count);
    expect([...seen, ...seqsOf(again)]).toEqual(Array.from({ length: count }, (_, n) => n + 1));
    again.end();
  });
});

describe('the live connection of an agent', () => {
  test('is closed on both processes when the member is removed or signs out, with and without a notification', async () => {
    for (const isTold of [true, false]) {
      const agent = await join();
      const pages = [
        await openAgent(here.url, workspace.tenantId, agent.token),
        await openAgent(there.url, workspace.tenantId, agent.token),
      ];
      const stays = await openAgent(here.url, workspace.tenantId, workspace.jwt);
      await (isTold
        ? workspace.session.call('removeMember', { params: { tenantId: workspace.tenantId, userId: agent.id } })
        : removeUser(database, agent.id));
      await expect.poll(() => pages.map(({ closed }) => closed)).toEqual([4401, 4401]);
      expect(stays.closed).toBeNull();
      stays.end();
    }
    const { token, client } = await join();
    const page = await openAgent(there.url, workspace.tenantId, token);
    await client.call('logOut', {});
    await expect.poll(() => page.closed).toBe(4401);
  });

  test('sends typing and viewing status to the agents of the same workspace only', async () => {
    const { id, token } = await createConversation();
    const ann = await join();
    await ann.client.call('updateMe', { body: { displayName: 'Ann B.' } });
    const otherWorkspace = await here.workspace();
    const [page, watching, foreign, visitor] = [
      await openAgent(here.url, workspace.tenantId, ann.token),
      await openAgent(there.url, workspace.tenantId, workspace.jwt),
      await openAgent(here.url, otherWorkspace.tenantId, otherWorkspace.jwt),
      await openVisitor(there.url, token),
    ];
    foreign.send({ type: 'view', conversationId: id });
    foreign.send({ type: 'typing', conversationId: id, typing: true });
    page.send({ type: 'view', conversationId: id });
    page.send({ type: 'typing', conversationId: id, typing: true });
    visitor.send({ type: 'typing', typing: true });
    const framesOfType = (type: string) => watching.frames.filter((frame) => frame.type === type);
    await expect
      .poll(() => framesOfType('viewers'))
      .toEqual([{ type: 'viewers', conversationId: id, userIds: [ann.id] }]);
    await expect
      .poll(() => framesOfType('typing'))
      .toEqual(
        expect.arrayContaining([
          { type: 'typing', conversationId: id, who: 'agent', userId: ann.id, typing: true },
          { type: 'typing', conversationId: id, who: 'visitor', userId: null, typing: true },
        ]),
      );
    await expect
      .poll(() => visitor.frames.filter(({ type }) => type === 'typing'))
      .toEqual([{ type: 'typing', who: 'agent', name: 'Ann B.', typing: true }]);
    page.end();
    await expect.poll(() => framesOfType('viewers').at(-1)).toMatchObject({ userIds: [] });
    // Events of another workspace stay in that workspace.
    const { user } = await otherWorkspace.session.call('readMe', {});
    expect(JSON.stringify([watching.frames, page.frames, visitor.frames])).not.toContain(user.id);
    expect(JSON.stringify(foreign.frames)).not.toContain(ann.id);
    for (const one of [watching, foreign, visitor]) one.end();
  });

  test('sends the read marks of a visitor, and sends the presence of agents to the visitor', async () => {
    const own = await here.workspace();
    const { id, token, sendMessage } = await createConversation(own);
    const visitor = await openVisitor(here.url, token);
    // Until then, its conversation could show the agent already.
    await expect.poll(() => visitor.frames.some(({ type }) => type === 'sync')).toBe(true);
    await sendMessage('hello');
    const agent = await openAgent(there.url, own.tenantId, own.jwt);
    await expect
      .poll(() => visitor.frames.filter(({ type }) => type === 'presence'))
      .toEqual([{ type: 'presence', agentOnline: true }]);
    visitor.send({ type: 'read', seq: 5 });
    await expect
      .poll(() => agent.frames.filter(({ type }) => type === 'read'))
      .toEqual([{ type: 'read', conversationId: id, who: 'visitor', seq: 1 }]);
    agent.send({ type: 'presence', presence: 'away' });
    await expect
      .poll(() => visitor.frames.filter(({ type }) => type === 'presence').at(-1))
      .toEqual({ type: 'presence', agentOnline: false });
    const { data } = await own.session.call('listChatAgents', { params: { tenantId: own.tenantId } });
    expect(data).toMatchObject([{ email: own.email, presence: 'away', openConversations: 0 }]);
    for (const one of [visitor, agent]) one.end();
  });

  test('answers a frame that could not be carried out with an error', async () => {
    const { id, token, sendMessage } = await createConversation();
    const visitor = await openVisitor(here.url, token);
    await sendMessage('hello');
    await expect.poll(() => textsOf(visitor)).toEqual(['hello']);
    await removeConversation(database, id);
    visitor.send({ type: 'read', seq: 1 });
    // The periodic check of all conversations may send this error first and close the connection.
    const closeReason = () => visitor.frames.find(({ type }) => type === 'error') ?? visitor.closed;
    await expect.poll(closeReason).not.toBeNull();
    expect([chatCloseCodes.revoked, expect.objectContaining({ type: 'error', code: 'not_found' })]).toContainEqual(
      closeReason(),
    );
    visitor.end();
  });

  test('sends no message again after the page of its visitor is closed', async () => {
    const own = await here.workspace();
    const { token, sendMessage } = await createConversation(own);
    const agent = await openAgent(here.url, own.tenantId, own.jwt);
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    for (const round of ['one', 'two', 'three']) {
      const page = await openVisitor(here.url, token);
      await expect.poll(() => page.frames.some(({ type }) => type === 'sync')).toBe(true);
      await sendMessage(round);
      await expect.poll(() => textsOf(page).at(-1)).toBe(round);
      await expect.poll(() => textsOf(agent).at(-1)).toBe(round);
      page.socket.close();
      await expect.poll(() => page.closed).not.toBeNull();
    }
    await sendMessage('last');
    await expect.poll(() => textsOf(agent).at(-1)).toBe('last');
    expect(textsOf(agent)).toEqual(['one', 'two', 'three', 'last']);
    agent.end();
  });

  test('lists the changes during lost notifications in its sync, and also works as an event stream', async () => {
    const own = await here.workspace();
    const { id, sendMessage } = await createConversation(own);
    const agent = await openAgent(here.url, own.tenantId, own.jwt);
    const stream = await openStream(`${there.url}/tenants/${own.tenantId}/chat/events`, own.jwt);
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    await expect.poll(() => stream.received.some(({ event }) => event === 'sync')).toBe(true);
    await changeSilently(() => sendMessage('quiet', there));
    await expect.poll(() => textsOf(agent)).toEqual(['quiet']);
    await expect
      .poll(() => stream.received.flatMap(({ event, data }) => (event === 'message' ? [data['message']] : [])))
      .toMatchObject([{ content: 'quiet' }]);
    agent.send({ type: 'hello' });
    await expect
      .poll(() => agent.frames.findLast(({ type }) => type === 'sync'))
      .toMatchObject({ changed: [{ id, lastPosition: 1, status: 'open' }], complete: true });
    agent.end();
    stream.end();
  });
});

describe('automatic assignment', () => {
  const open = (own: TestWorkspace, hub: TestHub, name: string) =>
    hub.client(own.keys.chat as string).call('createChatConversation', { body: { name } });

  test("by two concurrent processes exceeds no agent's capacity, and assigns waiting conversations to the next agent", async () => {
    const own = await here.workspace();
    await setAssignment(own, { capacity: 3 });
    const agents = [await join(own), await join(own)];
    const pages = [
      await openAgent(here.url, own.tenantId, agents[0]?.token as string),
      await openAgent(there.url, own.tenantId, agents[1]?.token as string),
    ];
    await expect
      .poll(async () => {
        const { data } = await own.session.call('listChatAgents', { params: { tenantId: own.tenantId } });
        return data.filter(({ presence }) => presence === 'online').length;
      })
      .toBe(2);
    await Promise.all(Array.from({ length: 12 }, (_, n) => open(own, n % 2 === 0 ? here : there, `c${n}`)));
    const counts = async () => {
      const assignees = await assigneesOf(own);
      return [...agents.map(({ id }) => id), null].map((id) => assignees.filter((assignee) => assignee === id).length);
    };
    expect(await counts()).toEqual([3, 3, 6]);
    await Promise.all([here.app.sweep(), there.app.sweep()]);
    expect(await counts()).toEqual([3, 3, 6]);
    await resolveConversationsOf(database, own.tenantId, agents[0]?.id as string);
    await Promise.all([here.app.sweep(), there.app.sweep()]);
    expect(await counts()).toEqual([3, 3, 3]);
    const late = await join(own);
    const page = await openAgent(there.url, own.tenantId, late.token);
    await expect.poll(async () => (await counts())[2]).toBe(0);
    for (const one of [...pages, page]) one.end();
  });

  test('ends when an agent signs out or is away for long, and the conversation goes to another agent', async () => {
    const own = await here.workspace();
    await setAssignment(own, { capacity: 20 });
    const leaver = await join(own);
    const page = await openAgent(here.url, own.tenantId, leaver.token);
    await expect
      .poll(async () => (await own.session.call('listChatAgents', { params: { tenantId: own.tenantId } })).data)
      .toMatchObject(
        expect.arrayContaining([expect.objectContaining({ userId: leaver.id, presence: 'online' })]) as object[],
      );
    for (const name of ['a', 'b']) await open(own, here, name);
    expect(await assigneesOf(own)).toEqual([leaver.id, leaver.id]);
    page.end();
    await expect
      .poll(async () => {
        // The hub may record a last heartbeat of the agent after the page is closed.
        await setAgentsSeen(database, own.tenantId, { minutes: 5 });
        await ageAssignments(database, own.tenantId, { minutes: 6 });
        await here.app.sweep();
        return assigneesOf(own);
      })
      .toEqual([null, null]);
    const stayer = await openAgent(there.url, own.tenantId, own.jwt);
    await expect.poll(async () => (await assigneesOf(own)).includes(null)).toBe(false);
    const removed = await join(own);
    await assignAllConversations(database, own.tenantId, removed.id);
    await addAgent(database, { tenantId: own.tenantId, userId: removed.id });
    await own.session.call('removeMember', { params: { tenantId: own.tenantId, userId: removed.id } });
    await expect.poll(async () => (await assigneesOf(own)).includes(removed.id)).toBe(false);
    expect(new Set(await assigneesOf(own)).size).toBe(1);
    stayer.end();
  });

  test('continues for an agent whose arrival could not be recorded', async () => {
    const own = await here.workspace();
    await setAssignment(own, { capacity: 20 });
    const agent = await openAgent(here.url, own.tenantId, own.jwt);
    const noted = () => removeAgents(database, own.tenantId);
    await expect.poll(noted).toBe(1);
    await expect
      .poll(async () => {
        await open(own, here, 'waits');
        const assignees = await assigneesOf(own);
        // A heartbeat in between has recorded the agent.
        if (!assignees.includes(null)) await noted();
        return assignees;
      })
      .toContain(null);
    await expect.poll(() => assigneesOf(own)).not.toContain(null);
    agent.end();
  });

  test('finds waiting conversations among many snoozed or pending ones by an index', async () => {
    const own = await here.workspace();
    await setAssignment(own, {});
    const ids = await makeConversations(database, own.tenantId, 4_000);
    await setConversationsAside(database, ids);
    await open(own, here, 'waits');
    await database.query('ANALYZE chat_conversations');
    using recorder = new StatementRecorder(16);
    const agent = await openAgent(here.url, own.tenantId, own.jwt);
    await expect.poll(() => assigneesOf(own).then((users) => users.filter((user) => user !== null).length)).toBe(1);
    const looks = recorder.statements.filter(({ name }) => name === 'list_waiting_conversations');
    expect(looks).not.toEqual([]);
    expect(await explainAll(database, looks, await planRulesOf(database, 1_000, 500))).toEqual([]);
    agent.end();
  });

  test('leaves conversations that were assigned to an absent agent with that agent', async () => {
    const own = await here.workspace();
    await setAssignment(own, { enabled: false });
    const { id } = await open(own, here, 'kept');
    const agent = await join(own);
    await addAgent(database, { tenantId: own.tenantId, userId: agent.id, seen: { days: 1 } });
    await assignConversation(database, id, agent.id);
    await here.app.sweep();
    expect(await assigneesOf(own)).toEqual([agent.id]);
  });

  test('skips a snoozed conversation until it wakes, which agents are notified of', async () => {
    const own = await here.workspace();
    await setAssignment(own, {});
    const { id } = await open(own, here, 'resting');
    await snoozeConversation(database, id, { hours: 1 });
    const agent = await openAgent(here.url, own.tenantId, own.jwt);
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    await here.app.sweep();
    expect(await assigneesOf(own)).toEqual([null]);
    await endSnoozes(database, [{ id, ago: { seconds: 1 } }]);
    // The clock of the database decides, not the clock of this process.
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
    try {
      await here.app.sweep();
      expect(await assigneesOf(own)).not.toContain(null);
    } finally {
      clock.mockRestore();
    }
    await expect
      .poll(() => agent.frames.findLast(({ type }) => type === 'conversation'))
      .toMatchObject({ conversation: { id, status: 'open', snoozedUntil: null } });
    expect(await assigneesOf(own)).toHaveLength(1);
    expect(await assigneesOf(own)).not.toContain(null);
    agent.end();
  });
});
