import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Transaction } from '../../hub/platform/db/database.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { beginVisitors, openAgent, openVisitor, seqsOf, textsOf } from '../fixtures/live-chat.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { addMessages, endSnoozes, refuseToWake, removeVisitorSessions } from '../fixtures/stage/chat.ts';
import { chatScene, sendFile } from '../fixtures/visitor.ts';
import type { ChatScene, TestVisitor } from '../fixtures/visitor.ts';

/** One visitor can use only a limited share of memory, database and time. */
let hub: TestHub;
let scene: ChatScene;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' });
  scene = await chatScene(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Creates sessions of one visitor and returns their tokens. */
const sessionsOf = ({ conversationId }: TestVisitor, count: number, own = scene) =>
  beginVisitors(
    hub.database,
    own.tenantId,
    Array.from({ length: count }, () => conversationId),
  );
const largeText = '😀'.repeat(10_000);
/** Inserts messages of the maximum size directly. */
const fill = ({ conversationId }: TestVisitor, count: number, content = largeText) =>
  addMessages(hub.database, conversationId, { count, content });
const upTo = (last: number) => Array.from({ length: last }, (_, n) => n + 1);
/** A connection that holds its locks until the end of the test. */
async function holder(): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: hub.database.url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
/** Records names and results of the statements that this hub sends outside of workspaces. */
function watchStatements() {
  const spy = vi.spyOn(hub.app.db, 'systemStatement');
  return {
    count: (name: string) => spy.mock.calls.filter(([called]) => called === name).length,
    answers: (name: string) =>
      Promise.all(
        spy.mock.calls.flatMap(([called], index) =>
          called === name ? [spy.mock.results[index]?.value as Promise<Record<string, unknown>[]>] : [],
        ),
      ),
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

describe('reconnecting pages of one visitor', () => {
  test('receive missed messages in parts of a few megabytes, completely and in order', async () => {
    const visitor = await scene.visitor();
    await fill(visitor, 40);
    using statements = watchStatements();
    const pages = await Promise.all((await sessionsOf(visitor, 12)).map((token) => openVisitor(hub.url, token, 0)));
    await expect.poll(() => pages.map(seqsOf)).toEqual(pages.map(() => upTo(40)));
    const pieces = (await statements.answers('read_missed_messages')).map((rows) =>
      rows.reduce((bytes, { content }) => bytes + Buffer.byteLength(String(content)), 0),
    );
    expect(Math.max(...pieces)).toBeLessThan(4 * 1024 * 1024 + 12 * 40_000);
    for (const page of pages) page.end();
  });

  test('share a limit of sockets over all sessions, and another visitor has a separate limit', async () => {
    const visitor = await scene.visitor();
    const sessions = await sessionsOf(visitor, 4);
    const pages = [];
    for (let n = 0; n < 20; n += 1) pages.push(await openVisitor(hub.url, sessions[n % 4] as string));
    for (const token of sessions) await expect(openVisitor(hub.url, token)).rejects.toThrow('429');
    (await openVisitor(hub.url, (await scene.visitor()).token)).end();
    pages.pop()?.end();
    await expect
      .poll(async () => {
        const page = await openVisitor(hub.url, sessions[0] as string).catch(() => null);
        page?.end();
        return page !== null;
      })
      .toBe(true);
    for (const page of pages) page.end();
  });

  test('share a rate limit of frames, which does not affect another visitor', async () => {
    const visitor = await scene.visitor();
    const other = await openVisitor(hub.url, (await scene.visitor()).token);
    const pages = await Promise.all((await sessionsOf(visitor, 5)).map((token) => openVisitor(hub.url, token)));
    for (const page of [...pages, other]) for (let n = 0; n < 15; n += 1) page.send({ type: 'typing', typing: true });
    await expect.poll(() => pages.filter(({ closed }) => closed === 4429).length).toBeGreaterThan(0);
    expect(other.closed).toBeNull();
    for (const page of [...pages, other]) page.end();
  });

  test('record one read mark at a time, and finally the latest', async () => {
    const visitor = await scene.visitor();
    await fill(visitor, 30, 'short');
    const pages = await Promise.all((await sessionsOf(visitor, 3)).map((token) => openVisitor(hub.url, token)));
    await using locker = await holder();
    await locker.query('BEGIN');
    await locker.query('SELECT FROM chat_conversations WHERE id = $1 FOR UPDATE', [visitor.conversationId]);
    // Not through the locking connection, which would see the same snapshot each time.
    const waiting = async () =>
      (
        await hub.database.query(
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%chat_conversations%'`,
        )
      ).length;
    for (let seq = 1; seq <= 15; seq += 1) pages[seq % 3]?.send({ type: 'read', seq });
    pages[0]?.send({ type: 'read', seq: 2 });
    await expect.poll(waiting).toBe(1);
    // Includes everything that was sent before this response.
    await visitor.api.call('showVisitorTyping', { body: { typing: true } });
    expect(await waiting()).toBe(1);
    await locker.query('COMMIT');
    const mark = async () => (await visitor.api.call('getVisitorConversation')).visitorReadSeq;
    await expect.poll(mark).toBe(15);
    for (const page of pages) page.end();
  });
});

describe('a page of messages', () => {
  test('ends early when its texts are large, and continues there, for visitors, agents and tokens', async () => {
    const visitor = await scene.visitor();
    await fill(visitor, 20);
    const { conversationId: id } = visitor;
    const { session } = scene.workspace;
    interface Page {
      data: { seq?: number | null }[];
      meta: { nextCursor: string | null };
    }
    const walk = async (read: (cursor: string | null) => Promise<Page>) => {
      const seen: number[][] = [];
      for (let cursor: string | null = null; ;) {
        const { data, meta }: Page = await read(cursor);
        seen.push(data.map(({ seq }) => seq as number));
        if (meta.nextCursor === null) return seen;
        cursor = meta.nextCursor;
      }
    };
    const forth = await Promise.all([
      walk((after) => visitor.api.call('listVisitorMessages', { query: { limit: 100, after: after ?? '0' } })),
      walk((after) =>
        session.call('listInboxMessages', {
          params: { tenantId: scene.tenantId, id },
          query: { limit: 100, after: after ?? '0' },
        }),
      ),
      walk((after) =>
        scene.api.call('listChatMessages', { params: { id }, query: { limit: 100, after: after ?? '0' } }),
      ),
    ]);
    const back = await walk((before) =>
      visitor.api.call('listVisitorMessages', { query: { limit: 100, ...(before === null ? {} : { before }) } }),
    );
    expect(forth.map((pages) => pages.flat())).toEqual([upTo(20), upTo(20), upTo(20)]);
    expect(back.toReversed().flat()).toEqual(upTo(20));
    expect(Math.max(...[...forth, back].flat().map(({ length }) => length))).toBe(6);
  });

  test('waits while other pages of the same visitor are sent, and delays no other caller', async () => {
    const [visitor, other] = [await scene.visitor(), await scene.visitor()];
    const gate = Promise.withResolvers<void>();
    const read = hub.app.db.read.bind(hub.app.db);
    const spy = vi.spyOn(hub.app.db, 'read').mockImplementation(async (tenantId, work) => {
      await gate.promise;
      return read(tenantId, work);
    });
    try {
      const asked = Array.from({ length: 12 }, () => visitor.api.call('listVisitorMessages', { query: {} }));
      await expect.poll(() => spy.mock.calls.length).toBe(4);
      const alone = other.api.call('listVisitorMessages', { query: {} });
      await expect.poll(() => spy.mock.calls.length).toBe(5);
      gate.resolve();
      expect((await Promise.all([...asked, alone])).length).toBe(13);
    } finally {
      gate.resolve();
      spy.mockRestore();
    }
  });
});

describe('event streams of visitors', () => {
  const open = (token: string) => openStream(`${hub.url}/widget/v1/events?after=0`, token);

  test('are limited per visitor over all sessions; other visitors have their own limit, and so do files', async () => {
    const [visitor, other] = [await scene.visitor(), await scene.visitor()];
    const file = await sendFile(hub, visitor.token, Buffer.from('hello'), 'a.txt');
    const sessions = await sessionsOf(visitor, 3);
    const streams = [];
    for (let n = 0; n < 6; n += 1) streams.push(await open(sessions[n % 3] as string));
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
    expect((await open(sessions[0] as string)).status).toBe(429);
    const theirs = await open(other.token);
    expect(theirs.status).toBe(200);
    const download = await fetch(`${hub.url}/widget/v1/files/${String(file.body['id'])}`, {
      headers: { authorization: `Bearer ${visitor.token}` },
    });
    expect([download.status, await download.text()]).toEqual([200, 'hello']);
    for (const stream of [...streams, theirs]) stream.end();
  });

  test('are checked together, and end with their sessions', async () => {
    const visitors = await Promise.all(Array.from({ length: 8 }, () => scene.visitor()));
    const leavers = await Promise.all(Array.from({ length: 12 }, () => scene.visitor()));
    const streams = await Promise.all(visitors.map(({ token }) => open(token)));
    const [first, ...others] = streams;
    using statements = watchStatements();
    await removeVisitorSessions(hub.database, visitors[0]?.conversationId as string);
    await Promise.all(leavers.map(({ api }) => api.call('endVisitorSession')));
    await expect
      .poll(() => first?.received.at(-1))
      .toMatchObject({ event: 'end', data: { code: 'chat_token_invalid' } });
    // Only the requests of these visitors.
    expect(statements.count('find_visitor_session')).toBe(leavers.length);
    await expect.poll(() => statements.count('forget_removed_agents')).toBeGreaterThan(0);
    expect(statements.count('forget_removed_agents')).toBeLessThan(leavers.length);
    expect(others.map(({ isOver }) => isOver)).toEqual(others.map(() => false));
    for (const stream of others) stream.end();
  });
});

describe('a new message', () => {
  test('reaches its visitor while the first read of an agent is waiting, and then the agent', async () => {
    const visitor = await scene.visitor();
    const page = await openVisitor(hub.url, visitor.token);
    await expect.poll(() => page.frames.some(({ type }) => type === 'sync')).toBe(true);
    const blocked = Promise.withResolvers<void>();
    const read = hub.app.db.read.bind(hub.app.db);
    const holding = (tx: Transaction) =>
      new Proxy(tx, {
        get: (target, name) =>
          name === 'query'
            ? async (...parameters: Parameters<Transaction['query']>) => {
                if (parameters[0] === 'list_presences') await blocked.promise;
                return target.query(...parameters);
              }
            : Reflect.get(target, name),
      });
    const spy = vi
      .spyOn(hub.app.db, 'read')
      .mockImplementation((tenantId, work) => read(tenantId, (tx) => work(holding(tx))));
    const agent = await openAgent(hub.url, scene.tenantId, scene.workspace.jwt);
    await scene.api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content: 'hello' } });
    await expect.poll(() => textsOf(page)).toEqual(['hello']);
    expect(agent.frames.some(({ type }) => type === 'sync')).toBe(false);
    blocked.resolve();
    spy.mockRestore();
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    expect([textsOf(page), textsOf(agent)]).toEqual([['hello'], ['hello']]);
    for (const one of [page, agent]) one.end();
  });

  test('reaches an agent whose first read failed, before the next heartbeat', async () => {
    const own = await chatScene(hub);
    const visitor = await own.visitor();
    const read = hub.app.db.read.bind(hub.app.db);
    let failed = 0;
    let isFailing = true;
    const spy = vi.spyOn(hub.app.db, 'read').mockImplementation((tenantId, work) => {
      if (!isFailing || tenantId !== own.tenantId) return read(tenantId, work);
      failed += 1;
      return Promise.reject(new Error('it failed'));
    });
    const agent = await openAgent(hub.url, own.tenantId, own.workspace.jwt);
    // Two reads each: one for the connected agent, and one that the agent requests.
    await expect.poll(() => failed).toBeGreaterThan(3);
    isFailing = false;
    await expect.poll(() => agent.frames.some(({ type }) => type === 'sync')).toBe(true);
    await own.api.call('sendChatMessage', { params: { id: visitor.conversationId }, body: { content: 'hello' } });
    await expect.poll(() => textsOf(agent)).toEqual(['hello']);
    spy.mockRestore();
    agent.end();
  });
});

test('a conversation that cannot be processed does not delay later snoozed or waiting conversations', async () => {
  const [poisoned, sound] = [await scene.visitor(), await scene.visitor()];
  await refuseToWake(hub.database, poisoned.conversationId);
  await endSnoozes(hub.database, [
    { id: poisoned.conversationId, ago: { hours: 2 } },
    { id: sound.conversationId, ago: { hours: 1 } },
  ]);
  const resting = async () =>
    (
      await hub.database.query<{ id: string }>(
        'SELECT id FROM chat_conversations WHERE id = ANY ($1::uuid[]) AND snoozed_until IS NOT NULL',
        [[poisoned.conversationId, sound.conversationId]],
      )
    ).map(({ id }) => id);
  await expect.poll(resting).toEqual([poisoned.conversationId]);
});
