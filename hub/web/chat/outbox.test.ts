import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import { HubError } from './api.ts';
import { moveOutbox, Outbox, outboxKey } from './outbox.ts';
import type { Outgoing, OutboxOptions } from './outbox.ts';
import { TabStorage } from './tab-storage.ts';

const storedMessageOf = ({ clientId, content }: Outgoing): ChatMessage => ({
  id: clientId,
  conversationId: 'c',
  seq: 1,
  content,
  senderType: 'visitor',
  senderId: null,
  senderName: null,
  senderPicture: null,
  attachments: [],
  clientId,
  createdAt: '2026-11-22T12:00:00.000Z',
});

/** Creates an outbox with a fake hub that records the messages and fails as specified. */
function createOutbox(failures: (HubError | null)[], waiting: readonly Outgoing[] = []) {
  const sent: Outgoing[] = [];
  const closed: string[] = [];
  let pending = waiting;
  const options: OutboxOptions = {
    waiting,
    async send(message) {
      sent.push(message);
      const failure = failures.shift() ?? null;
      if (failure !== null) throw failure;
      return storedMessageOf(message);
    },
    onSent: () => undefined,
    onChange: (waitingNow) => {
      pending = waitingNow;
    },
    onClosed: ({ code }) => closed.push(code),
  };
  return { outbox: new Outbox(options), sent, closed, pending: () => pending };
}

test('messages are sent one at a time in the order written, and a message is sent again after a temporary failure', async () => {
  const { outbox, sent, pending } = createOutbox([
    new HubError(0, 'unreachable', ''),
    new HubError(503, 'unavailable', ''),
  ]);
  for (const text of ['one', 'two', 'three']) outbox.add(text, []);
  await expect.poll(() => pending().length).toBe(0);
  expect(sent.map(({ content }) => content)).toEqual(['one', 'one', 'one', 'two', 'three']);
  expect(new Set(sent.map(({ clientId }) => clientId)).size).toBe(3);
});

test('messages stored before a reload are sent first, with their original client ids', async () => {
  const before = createOutbox([new HubError(0, 'unreachable', '')]);
  before.outbox.add('from before', []);
  await expect.poll(() => before.sent.length).toBe(1);
  before.outbox.end();
  const after = createOutbox([], before.pending());
  after.outbox.add('from after', []);
  await expect.poll(() => after.pending().length).toBe(0);
  expect(after.sent.map(({ content }) => content)).toEqual(['from before', 'from after']);
  expect(after.sent[0]?.clientId).toBe(before.sent[0]?.clientId);
});

test('a refused message waits for a retry by the visitor and does not block the next message', async () => {
  const { outbox, sent, pending } = createOutbox([new HubError(400, 'validation_failed', '')]);
  outbox.add('refused', []);
  outbox.add('next', []);
  await expect.poll(() => pending().map(({ content, isRefused }) => [content, isRefused])).toEqual([['refused', true]]);
  outbox.retry(pending()[0]?.clientId as string);
  await expect.poll(() => pending().length).toBe(0);
  expect(sent.map(({ content }) => content)).toEqual(['refused', 'next', 'refused']);
});

test('sending to a closed conversation stops and keeps the unsent message', async () => {
  const { outbox, sent, closed, pending } = createOutbox([new HubError(409, 'conversation_closed', '')]);
  outbox.add('too late', []);
  await expect.poll(() => closed).toEqual(['conversation_closed']);
  expect([sent.length, pending().map(({ content }) => content)]).toEqual([1, ['too late']]);
});

test('pending messages move to another conversation, after those that wait there', () => {
  const storage = new TabStorage(null, 'site', 'visit');
  storage.set(outboxKey('from'), [{ clientId: 'b' }]);
  storage.set(outboxKey('to'), [{ clientId: 'a' }]);
  moveOutbox(storage, 'from', 'to');
  moveOutbox(storage, 'to', 'to');
  expect([storage.get(outboxKey('from')), storage.get(outboxKey('to'))]).toEqual([
    null,
    [{ clientId: 'a' }, { clientId: 'b' }],
  ]);
});
