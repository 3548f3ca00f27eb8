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
import { changeTurn, endOpenTurns, markInterrupted, applyFrame } from './turns.ts';
import type { Turn } from './turns.ts';
import { english } from './words/english.ts';

vi.mock('../chat/backoff.ts', () => ({ backoffMs: () => 0 }));

const latencyMs = { transcribe: 300, firstText: 200, firstAudio: 100, toFirstAudio: 600, total: 900 };
const text = (turnId: string, role: 'user' | 'assistant', data: string) =>
  ({ type: 'text', turnId, role, data }) as const;
const done = (turnId: string, interrupted = false) =>
  ({ type: 'done', turnId, done: true, latencyMs, interrupted }) as const;
const turnsAfter = (...frames: Parameters<typeof applyFrame>[1][]) =>
  frames.reduce<readonly Turn[]>((turns, frame) => applyFrame(turns, frame), []);

test('a newer transcript replaces the older one, and the sentences of an answer are appended', () => {
  const turns = turnsAfter(
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
      firstSoundMs: null,
    },
  ]);
});

test('a turn without a transcript is removed, and a failed turn keeps its error code', () => {
  expect(turnsAfter(text('noise', 'user', ''), done('noise'))).toEqual([]);
  expect(
    turnsAfter(
      { type: 'error', turnId: 'one', data: 'No model answered.', code: 'inference_failed', requestId: 'r' },
      done('one'),
    ),
  ).toMatchObject([{ failure: 'inference_failed', isDone: true }]);
});

test('a turn interrupted in the page stays interrupted when the hub reports that it completed', () => {
  const turns = markInterrupted(turnsAfter(text('one', 'user', 'Hello'), text('one', 'assistant', 'Good day.')));
  expect(applyFrame(turns, done('one', false))).toMatchObject([{ isDone: true, isInterrupted: true }]);
});

test('a lost connection ends the turns in progress and keeps their texts', () => {
  const turns = turnsAfter(
    text('one', 'user', 'Hello'),
    done('one'),
    text('two', 'user', 'And'),
    text('three', 'user', ''),
  );
  expect(endOpenTurns(turns)).toMatchObject([
    { id: 'one', isInterrupted: false },
    { id: 'two', isDone: true, isInterrupted: true },
  ]);
});

test('only the newest 200 turns are kept', () => {
  let turns: readonly Turn[] = [];
  for (let count = 0; count < 205; count += 1) turns = changeTurn(turns, String(count), () => ({ user: 'x' }));
  expect([turns.length, turns[0]?.id]).toEqual([200, '5']);
});

test('encoding audio as base64 and decoding it returns the same bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000 }), (bytes) => {
      const sent = toBase64(bytes);
      expect(sent).toBe(Buffer.from(bytes).toString('base64'));
      expect(fromBase64(sent)).toEqual(bytes);
    }),
    { numRuns: 20 },
  );
});

test('each error code of the hub maps to a problem of the page', () => {
  expect(
    ['unauthenticated', 'product_not_entitled', 'role_required', 'ai_binding_not_configured', 'unavailable', ''].map(
      problemOf,
    ),
  ).toEqual(['signedOut', 'notEntitled', 'notEntitled', 'notConfigured', 'unreachable', 'unreachable']);
});

test('every language has all texts with the same placeholders, and a distinct name for each spoken language', async () => {
  const placeholders = (words: object) =>
    Object.entries(words).map(([name, value]) => [
      name,
      String(value)
        .match(/\{\w+\}/g)
        ?.toSorted() ?? [],
    ]);
  for (const locale of chatLocales) {
    const language = await loadLanguage(locale, [locale]);
    expect(language.locale).toBe(locale);
    expect(Object.values(language.words).filter((value) => value === '')).toEqual([]);
    expect(placeholders(language.words)).toEqual(placeholders(english));
    expect(new Set(language.languages.map(({ name }) => name)).size).toBe(language.languages.length);
  }
});

test('at the session limit, the page shows the problem immediately, retries six times and then stops', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  let attempts = 0;
  server.on('connection', (socket) => {
    attempts += 1;
    socket.close(4429, 'more than 2 connections of one user');
  });
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('document', { baseURI: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
  onTestFinished(() => {
    vi.unstubAllGlobals();
    server.close();
  });
  const events: string[] = [];
  const connection = new Connection({
    onOpen: () => undefined,
    onFrame: () => undefined,
    onLost: () => events.push('lost'),
    onBusy: () => events.push('busy'),
    onEnd: (problem) => events.push(problem),
  });
  for (let round = 1; round <= 2; round += 1) {
    connection.connectNow();
    await expect.poll(() => events.length).toBe(7 * round);
    expect([events.slice(-7), attempts]).toEqual([[...Array.from({ length: 6 }, () => 'busy'), 'busyHub'], 7 * round]);
  }
});
