import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chatLocales } from '../../../shared/contract/chat/settings.ts';
import { createEventStreamParser } from '../../../shared/web/event-stream-parser.ts';
import type { StreamedEvent } from '../../../shared/web/event-stream-parser.ts';
import { linkParts } from '../../../shared/web/links.ts';
import { HubError } from './api.ts';
import { backoffMs } from './backoff.ts';
import { loadLanguage } from './language.ts';
import { problemOf } from './problems.ts';
import { TabStorage } from './tab-storage.ts';

test('the parts of a text join to the same text, and only http and https URLs become links', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      'http://',
      'https://a.example',
      'javascript:alert(1)',
      ' ',
      '"',
      '(',
      ')',
      '.',
      '<img src=x>',
      '//',
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const parts = linkParts(text);
      expect(parts.map((part) => part.text).join('')).toBe(text);
      for (const { href } of parts) if (href !== undefined) expect(href).toMatch(/^https?:\/\//);
    }),
  );
  expect(
    linkParts('see (https://a.example/b_(c)), or JAVASCRIPT:alert(1) data:text/html,x').filter(({ href }) => href),
  ).toEqual([{ text: 'https://a.example/b_(c)', href: 'https://a.example/b_(c)' }]);
  // The part before an @ looks like the site, but is the user name.
  expect(linkParts('https://bank.example@evil.example/').every(({ href }) => href === undefined)).toBe(true);
});

test('the parser returns the same events for every split of the stream', () => {
  const stream =
    ': hi\r\n\r\nretry: 2000\n\nid: 4\nevent: message\ndata: {"a":1}\n\nevent: sync\r\ndata: x\r\ndata: y\r\n\r\n';
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: stream.length })), (cuts) => {
      const events: StreamedEvent[] = [];
      const parse = createEventStreamParser((event) => events.push(event));
      const offsets = [0, ...cuts.toSorted((left, right) => left - right), stream.length];
      for (const [index, offset] of offsets.entries()) parse(stream.slice(offsets[index - 1] ?? 0, offset));
      expect(events).toEqual([
        { event: 'message', data: '{"a":1}', id: '4' },
        { event: 'sync', data: 'x\ny', id: '4' },
      ]);
    }),
  );
});

test('the back-off grows to 30 seconds and is randomized between half and all of the delay', () => {
  expect([0, 3, 40].map((attempt) => backoffMs(attempt, () => 1))).toEqual([500, 4_000, 30_000]);
  expect([0, 3, 40].map((attempt) => backoffMs(attempt, () => 0))).toEqual([250, 2_000, 15_000]);
});

test('each language has all texts with the same placeholders, and applies its own plural rules', async () => {
  const english = await loadLanguage('en', []);
  const placeholders = (text: unknown) => (typeof text === 'string' ? (text.match(/\{\w+\}/g) ?? []).toSorted() : null);
  for (const locale of chatLocales) {
    const language = await loadLanguage(locale, []);
    expect(language.locale).toBe(locale);
    for (const [name, text] of Object.entries(english.words))
      expect([name, placeholders((language.words as Record<string, unknown>)[name])]).toEqual([
        name,
        placeholders(text),
      ]);
    for (const count of [0, 1, 2, 3, 11, 100]) expect(language.unread(count)).not.toBe('');
  }
  const arabic = await loadLanguage('ar', ['ar-EG']);
  expect([arabic.direction, arabic.unread(2)]).toEqual(['rtl', 'رسالتان جديدتان']);
});

test('values of another visit are deleted, and without browser storage values are kept in memory', () => {
  const items = new Map<string, string>();
  const storage = {
    get length() {
      return items.size;
    },
    key: (index: number) => [...items.keys()][index] ?? null,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
    clear: () => items.clear(),
  };
  new TabStorage(storage, 'wgt_a', 'first').set('session', { token: 't' });
  new TabStorage(storage, 'wgt_b', 'first').set('session', 1);
  const second = new TabStorage(storage, 'wgt_a', 'second');
  expect([second.get('session'), [...items.keys()]]).toEqual([null, ['outrigger.chat.wgt_b.first.session']]);
  const inMemory = new TabStorage(null, 'wgt_a', 'page');
  inMemory.set('draft', 'typed');
  expect(inMemory.get('draft')).toBe('typed');
  inMemory.set('draft', null);
  expect(inMemory.get('draft')).toBeNull();
});

test('the problem shown for a refusal depends on how the visitor was identified', () => {
  const problemFor = (status: number, code: string, isKnown: boolean, hasCredentials = true) =>
    problemOf(new HubError(status, code, ''), { hasCredentials, isKnown });
  expect(problemFor(401, 'chat_token_invalid', true)).toBe('invalid');
  expect(problemFor(401, 'chat_token_expired', true)).toBe('expired');
  expect(problemFor(401, 'chat_token_invalid', false)).toBe('over');
  expect(problemFor(401, 'chat_token_expired', false)).toBe('over');
  expect(problemFor(401, 'unauthenticated', false, false)).toBe('needed');
  for (const isKnown of [true, false]) expect(problemFor(403, 'visitor_blocked', isKnown)).toBe('blocked');
});
