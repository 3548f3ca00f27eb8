import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import { HubError } from './api.ts';
import { Outbox } from './outbox.ts';
import type { Outgoing, OutboxOptions } from './outbox.ts';

const arrivedOf = ({ clientId, content }: Outgoing): ChatMessage => ({
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

/** An outbox before a hub that notes what it is sent, and fails as it is told. */
function boxOf(failures: (HubError | null)[], waiting: readonly Outgoing[] = []) {
  const sent: Outgoing[] = [];
  const closed: string[] = [];
  let kept = waiting;
  const options: OutboxOptions = {
    waiting,
    async send(message) {
      sent.push(message);
      const failure = failures.shift() ?? null;
      if (failure !== null) throw failure;
      return arrivedOf(message);
    },
    onSent: () => undefined,
    onChange: (now) => {
      kept = now;
    },
    onClosed: ({ code }) => closed.push(code),
  };
  return { box: new Outbox(options), sent, closed, kept: () => kept };
}

test('messages go out one after the other in the order in which they were written, the same again after a failure that passes', async () => {
  const { box, sent, kept } = boxOf([new HubError(0, 'unreachable', ''), new HubError(503, 'unavailable', '')]);
  for (const text of ['one', 'two', 'three']) box.add(text, []);
  await expect.poll(() => kept().length).toBe(0);
  expect(sent.map(({ content }) => content)).toEqual(['one', 'one', 'one', 'two', 'three']);
  expect(new Set(sent.map(({ clientId }) => clientId)).size).toBe(3);
});

test('what was kept over a reload is sent before what is written then, under the ids that it had', async () => {
  const before = boxOf([new HubError(0, 'unreachable', '')]);
  before.box.add('from before', []);
  await expect.poll(() => before.sent.length).toBe(1);
  before.box.end();
  const after = boxOf([], before.kept());
  after.box.add('from after', []);
  await expect.poll(() => after.kept().length).toBe(0);
  expect(after.sent.map(({ content }) => content)).toEqual(['from before', 'from after']);
  expect(after.sent[0]?.clientId).toBe(before.sent[0]?.clientId);
});

test('one that the hub refuses waits for its writer, and holds up no other', async () => {
  const { box, sent, kept } = boxOf([new HubError(400, 'validation_failed', '')]);
  box.add('refused', []);
  box.add('next', []);
  await expect.poll(() => kept().map(({ content, isRefused }) => [content, isRefused])).toEqual([['refused', true]]);
  box.retry(kept()[0]?.clientId as string);
  await expect.poll(() => kept().length).toBe(0);
  expect(sent.map(({ content }) => content)).toEqual(['refused', 'next', 'refused']);
});

test('a closed conversation takes nothing more, and what was written is still there', async () => {
  const { box, sent, closed, kept } = boxOf([new HubError(409, 'conversation_closed', '')]);
  box.add('too late', []);
  await expect.poll(() => closed).toEqual(['conversation_closed']);
  expect([sent.length, kept().map(({ content }) => content)]).toEqual([1, ['too late']]);
});
