import { expect, test } from 'vitest';
import { emptyText, isSame, joinTexts, readStoredDraft, withoutReturned } from './draft-text.ts';
import type { Outgoing, StoredDraft } from './draft-text.ts';

const text = (content: string) => ({ ...emptyText, content });
const outgoing: Outgoing = { ...text('First'), kind: 'reply', clientId: 'c1', sentAt: '2026-01-01T00:00:00.000Z' };
const now = Date.parse('2026-01-01T00:01:00.000Z');

test('a text that returns is in front of what the agent wrote since, with what the agent had seen before', () => {
  expect(joinTexts({ ...text('First'), seenSeq: 3 }, { ...text('Second'), seenSeq: 5, uploads: 1 })).toEqual({
    ...text('First\n\nSecond'),
    seenSeq: 3,
    uploads: 1,
  });
  expect(joinTexts(text('First'), emptyText).content).toBe('First');
});

test('what the hub has after all leaves the text, and the rest stays', () => {
  expect(withoutReturned(text('First\n\nSecond'), outgoing).content).toBe('Second');
  expect(withoutReturned(text('First'), outgoing).content).toBe('');
  expect(withoutReturned(text('Changed'), outgoing).content).toBe('Changed');
});

test('only an unchanged text repeats its request', () => {
  expect(isSame(outgoing, { kind: 'reply', content: 'First', files: [] })).toBe(true);
  expect(isSame(outgoing, { kind: 'note', content: 'First', files: [] })).toBe(false);
  expect(isSame(outgoing, { kind: 'reply', content: 'First!', files: [] })).toBe(false);
});

test('a text that was being sent is part of the stored draft again, except in another tab', () => {
  const stored: StoredDraft = {
    kind: 'note',
    reply: text('Second'),
    note: text('Mine'),
    outgoing: [outgoing],
    isSaved: true,
    saved: null,
  };
  const value = JSON.stringify(stored);
  expect(readStoredDraft(value, { now })).toMatchObject({
    kind: 'note',
    reply: { content: 'First\n\nSecond' },
    note: { content: 'Mine' },
    isSaved: false,
  });
  const both = { ...stored, outgoing: [outgoing, { ...outgoing, content: 'Then' }] };
  expect(readStoredDraft(JSON.stringify(both), { now })?.reply.content).toBe('First\n\nThen\n\nSecond');
  expect(readStoredDraft(JSON.stringify({ ...stored, outgoing }), { now })?.reply.content).toBe('First\n\nSecond');
  expect(readStoredDraft(JSON.stringify({ ...stored, outgoing: null }))).toMatchObject({ outgoing: [], isSaved: true });
  expect(readStoredDraft(value, { isSentElsewhere: true, now })?.reply.content).toBe('Second');
  for (const broken of [null, '', '{', '{"content":"old"}', '{"reply":{"content":1}}'])
    expect(readStoredDraft(broken)).toBeNull();
});

test('a text of a closed tab expires after a week, and the rest of the draft stays', () => {
  const newer: Outgoing = { ...outgoing, clientId: 'c2', content: 'Later', sentAt: '2026-01-05T00:00:00.000Z' };
  const value = JSON.stringify({
    kind: 'reply',
    reply: text('Second'),
    note: text('Mine'),
    outgoing: [outgoing, newer],
    isSaved: true,
    saved: null,
  });
  const readAt = (time: string) => readStoredDraft(value, { now: Date.parse(time) });
  expect(readAt('2026-01-07T23:59:59.000Z')).toMatchObject({
    outgoing: [{ clientId: 'c1' }, { clientId: 'c2' }],
    hasExpired: false,
  });
  expect(readAt('2026-01-08T00:00:00.000Z')).toMatchObject({
    outgoing: [{ clientId: 'c2' }],
    reply: { content: 'Later\n\nSecond' },
    hasExpired: true,
  });
  expect(readAt('2026-01-12T00:00:00.000Z')).toMatchObject({
    outgoing: [],
    reply: { content: 'Second' },
    note: { content: 'Mine' },
    isSaved: true,
  });
});
