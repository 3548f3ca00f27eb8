import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ChatEventPayload } from '../../../../shared/contract/chat/chat-events.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { Database } from '../../../platform/db/database.ts';
import { ChatEvents } from './chat-events.ts';

const tenantId = '01980000-0000-7000-8000-000000000001';
const conversationId = '01980000-0000-7000-8000-0000000000c1';
const payload: ChatEventPayload = {
  tenantId,
  sequence: 1,
  environment: 'live',
  actor: 'system',
  conversation: { id: conversationId },
  message: { id: 'm1', content: 'help' },
};

const cleanUp = new AsyncDisposableStack();
let db: Database;
let events: ChatEvents;
let calls: string[];
beforeAll(async () => {
  const database = cleanUp.use(await acquireDatabase());
  db = cleanUp.use(
    new Database({ url: database.url, maxConnections: 2, applicationName: 'test', onError: () => undefined }),
  );
});
afterAll(() => cleanUp.disposeAsync());
beforeEach(() => {
  events = new ChatEvents();
  calls = [];
});

test('an event reaches subscribers in the order of their subscriptions, in the transaction of its cause, and what they left for its commit runs after it', async () => {
  for (const name of ['first', 'second'])
    events.subscribe(async (tx, { type, depth }) => {
      const { rows } = await tx.query<{ id: string }>(
        `test_${name}_subscriber`,
        'SELECT pg_current_xact_id()::text AS id',
        [],
      );
      calls.push(`${name}: ${type}, depth ${depth}, transaction ${rows[0]?.id}`);
      tx.onCommit(() => calls.push(`${name} after the commit`));
    });
  const delivered = await db.workspace(tenantId, async (tx) => {
    const { rows } = await tx.query<{ id: string }>('test_cause', 'SELECT pg_current_xact_id()::text AS id', []);
    await events.emit(tx, 'message.created', payload, 2);
    const expected = ['first', 'second'].map((name) => `${name}: message.created, depth 2, transaction ${rows[0]?.id}`);
    expect(calls).toEqual(expected);
    return expected;
  });
  expect(calls).toEqual([...delivered, 'first after the commit', 'second after the commit']);
});

test('an eraser that has more to erase ends the round: the next eraser runs once it has finished', async () => {
  let left = 2;
  events.onErase(async (_tx, ...erased) => {
    calls.push(`first ${JSON.stringify(erased)}`);
    left -= 1;
    return left > 0;
  });
  events.onErase(async () => {
    calls.push('second');
    return false;
  });
  const erase = () => db.workspace(tenantId, (tx) => events.erase(tx, tenantId, [conversationId]));
  const first = `first ${JSON.stringify([tenantId, [conversationId]])}`;
  expect(await erase()).toBe(true);
  expect(calls).toEqual([first]);
  expect(await erase()).toBe(false);
  expect(calls).toEqual([first, first, 'second']);
});

test.each([
  ['the first event', () => db.workspace(tenantId, (tx) => events.emit(tx, 'message.created', payload))],
  ['the first erasure', () => db.workspace(tenantId, (tx) => events.erase(tx, tenantId, [conversationId]))],
])('a subscription after %s is refused', async (_what, use) => {
  await use();
  expect(() => events.subscribe(async () => undefined)).toThrow('while the product is created');
  expect(() => events.onErase(async () => false)).toThrow('while the product is created');
});
