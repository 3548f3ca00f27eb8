import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { chatLocales } from '../../../shared/contract/chat/settings.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { Connection } from './connection.ts';
import { problemOf } from './hub.ts';
import { loadLanguage } from './language.ts';
import { changeTurn, cutOff, cutShort, heardFrame } from './turns.ts';
import type { Turn } from './turns.ts';
import { english } from './words/english.ts';

vi.mock('../chat/backoff.ts', () => ({ backoffMs: () => 0 }));

const latencyMs = { transcribe: 300, firstText: 200, firstAudio: 100, toFirstAudio: 600, total: 900 };
const text = (turnId: string, role: 'user' | 'assistant', data: string) =>
  ({ type: 'text', turnId, role, data }) as const;
const done = (turnId: string, interrupted = false) =>
  ({ type: 'done', turnId, done: true, latencyMs, interrupted }) as const;
const after = (...frames: Parameters<typeof heardFrame>[1][]) =>
  frames.reduce<readonly Turn[]>((turns, frame) => heardFrame(turns, frame), []);

test('what was understood takes the place of what was before, and sentences of the answer follow one another', () => {
  const turns = after(
    text('one', 'user', ''),
    text('one', 'user', 'When do'),
    text('one', 'user', 'When do you open?'),
    text('one', 'assistant', 'At nine. '),
    text('one', 'assistant', 'On Sundays never.'),
    text('one', 'assistant', ''),
    done('one'),
  );
  expect(turns).toEqual([
    {
      id: 'one',
      user: 'When do you open?',
      assistant: 'At nine. On Sundays never.',
      isDone: true,
      isInterrupted: false,
      failure: '',
      latency: latencyMs,
      heardMs: null,
    },
  ]);
});

test('a turn of which nothing was understood leaves nothing, and one that failed says why', () => {
  expect(after(text('noise', 'user', ''), done('noise'))).toEqual([]);
  expect(
    after(
      { type: 'error', turnId: 'one', data: 'No model answered.', code: 'inference_failed', requestId: 'r' },
      done('one'),
    ),
  ).toMatchObject([{ failure: 'inference_failed', isDone: true }]);
});

test('what was interrupted here stays so, whatever the hub had said of it by then', () => {
  const turns = cutShort(after(text('one', 'user', 'Hello'), text('one', 'assistant', 'Good day.')));
  expect(heardFrame(turns, done('one', false))).toMatchObject([{ isDone: true, isInterrupted: true }]);
});

test('a lost connection ends what was under way, and keeps what was said', () => {
  const turns = after(text('one', 'user', 'Hello'), done('one'), text('two', 'user', 'And'), text('three', 'user', ''));
  expect(cutOff(turns)).toMatchObject([
    { id: 'one', isInterrupted: false },
    { id: 'two', isDone: true, isInterrupted: true },
  ]);
});

test('of many turns the newest 200 stay', () => {
  let turns: readonly Turn[] = [];
  for (let count = 0; count < 205; count += 1) turns = changeTurn(turns, String(count), () => ({ user: 'x' }));
  expect([turns.length, turns[0]?.id]).toEqual([200, '5']);
});

test('sound is the same after it went as base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000 }), (bytes) => {
      const sent = toBase64(bytes);
      expect(sent).toBe(Buffer.from(bytes).toString('base64'));
      expect(fromBase64(sent)).toEqual(bytes);
    }),
    { numRuns: 20 },
  );
});

test('codes of the hub become what the page says', () => {
  expect(
    ['unauthenticated', 'product_not_entitled', 'role_required', 'ai_binding_not_configured', 'unavailable', ''].map(
      problemOf,
    ),
  ).toEqual(['signedOut', 'notEntitled', 'notEntitled', 'notConfigured', 'unreachable', 'unreachable']);
});

test('every language has words for everything, with the same places for values, and names of languages', async () => {
  const places = (words: object) =>
    Object.entries(words).map(([name, said]) => [
      name,
      String(said)
        .match(/\{\w+\}/g)
        ?.toSorted() ?? [],
    ]);
  for (const locale of chatLocales) {
    const language = await loadLanguage(locale, [locale]);
    expect(language.locale).toBe(locale);
    expect(Object.values(language.words).filter((said) => said === '')).toEqual([]);
    expect(places(language.words)).toEqual(places(english));
    expect(new Set(language.languages.map(({ name }) => name)).size).toBe(language.languages.length);
  }
});

test('a page without a place says at once that others have them, asks for one a few times, and then says it for good', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  let asked = 0;
  server.on('connection', (socket) => {
    asked += 1;
    socket.close(4429, 'more than 2 connections of one user');
  });
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('document', { baseURI: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    server.close();
  });
  const told: string[] = [];
  const connection = new Connection({
    onOpen: () => undefined,
    onFrame: () => undefined,
    onLost: () => told.push('lost'),
    onBusy: () => told.push('busy'),
    onEnd: (problem) => told.push(problem),
  });
  for (let round = 1; round <= 2; round += 1) {
    connection.again();
    await expect.poll(() => told.length).toBe(7 * round);
    expect([told.slice(-7), asked]).toEqual([[...Array.from({ length: 6 }, () => 'busy'), 'busyHub'], 7 * round]);
  }
});
