import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import { chunkSize, Messages } from './messages.ts';

const messageOf = (seq: number): ChatMessage => ({
  id: `m${seq}`,
  conversationId: 'c',
  seq,
  content: String(seq),
  senderType: seq % 2 === 0 ? 'visitor' : 'agent',
  senderId: null,
  senderName: null,
  senderPicture: null,
  attachments: [],
  clientId: null,
  createdAt: '2026-11-22T12:00:00.000Z',
});
const shown = (messages: Messages) => messages.chunks.flatMap(({ messages: some }) => some.map(({ seq }) => seq));
const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_none, at) => from + at);

test('messages added in any order and repeatedly are shown without gaps and duplicates', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 120 }),
      fc.array(fc.array(fc.integer({ min: 1, max: 240 }), { maxLength: 30 }), { maxLength: 30 }),
      (start, batches) => {
        const messages = new Messages();
        messages.add([messageOf(start)]);
        for (const batch of batches) {
          messages.add(batch.map(messageOf));
          expect(shown(messages)).toEqual(upTo(messages.first, messages.last));
        }
        messages.add(upTo(1, 240).map(messageOf));
        expect(shown(messages)).toEqual(upTo(1, 240));
        expect(messages.hasGap).toBe(false);
      },
    ),
  );
});

test('messages beyond a gap are shown only once the gap is filled', () => {
  const messages = new Messages();
  messages.add([1, 2].map(messageOf));
  expect(messages.add([messageOf(5)])).toEqual([]);
  expect([messages.last, messages.hasGap]).toEqual([2, true]);
  expect(messages.add([messageOf(4), messageOf(3)]).map(({ seq }) => seq)).toEqual([3, 4, 5]);
  expect([messages.last, messages.hasGap]).toEqual([5, false]);
});

test('a new message changes only its own chunk, so that the other chunks are not rendered again', () => {
  const messages = new Messages();
  messages.add(upTo(1, chunkSize * 3).map(messageOf));
  const before = messages.chunks;
  messages.add([messageOf(chunkSize * 3 + 1)]);
  expect(messages.chunks.slice(0, 3).every((chunk, at) => chunk === before[at])).toBe(true);
  expect(messages.chunks.at(-1)).not.toBe(before.at(-1));
  expect(messages.countAfter(chunkSize * 3 - 1, ({ senderType }) => senderType === 'agent')).toBe(1);
});

test('in an empty conversation, a later message is shown only after the first message', () => {
  const messages = new Messages();
  messages.restart([]);
  expect(messages.add([messageOf(2)])).toEqual([]);
  expect(messages.hasGap).toBe(true);
  messages.add([messageOf(1)]);
  expect(shown(messages)).toEqual([1, 2]);
});

test('restarting at the newest messages keeps newer messages that arrived meanwhile', () => {
  const messages = new Messages();
  messages.add([messageOf(4)]);
  messages.restart(upTo(1, 2).map(messageOf));
  expect([shown(messages), messages.hasGap]).toEqual([[1, 2], true]);
  messages.restart(upTo(2, 3).map(messageOf));
  expect(shown(messages)).toEqual([2, 3, 4]);
});
