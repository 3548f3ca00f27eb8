import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { startModelServer } from '../../../../test/fixtures/model-server.ts';
import type { ModelServer } from '../../../../test/fixtures/model-server.ts';
import { defaultSpeechReply, startSpeechServer } from '../../../../test/fixtures/speech-server.ts';
import type { SpeechServer } from '../../../../test/fixtures/speech-server.ts';
import { readSound } from '../speech/sound.ts';
import { examineBindings } from './examine-bindings.ts';

let model: ModelServer;
let speech: SpeechServer;
beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
});
afterAll(async () => {
  for (const server of [model, speech]) await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.requests.length = 0;
  speech.requests.length = 0;
  model.reply = () => 'ready';
  speech.reply = defaultSpeechReply;
});

const bound = (modelUrl = model.baseUrl, speechUrl = speech.baseUrl) => ({
  ai: { provider: 'openai-compatible' as const, baseUrl: modelUrl, model: 'alpha', apiKey: 'the-key', prices: null },
  speech: {
    speechToText: { baseUrl: speechUrl, model: 'ears', apiKey: 'the-key' },
    textToSpeech: { provider: 'openai' as const, baseUrl: speechUrl, model: 'voice', apiKey: null, voice: 'alloy' },
  },
});
const examine = (bindings: Parameters<typeof examineBindings>[0]) =>
  examineBindings(bindings, { signal: new AbortController().signal, clock: fastClock(25) });

test('each binding is called once, and speech-to-text transcribes the synthesized speech', async () => {
  expect(await examine(bound())).toEqual([
    { check: 'model', ok: true, detail: expect.stringMatching(/^alpha answers: 5 characters after \d+ ms$/) as string },
    {
      check: 'text-to-speech',
      ok: true,
      detail: expect.stringMatching(/^voice speaks: 0\.5 s of sound after \d+ ms$/) as string,
    },
    {
      check: 'speech-to-text',
      ok: true,
      detail: expect.stringMatching(
        /^ears answers after \d+ ms: it understood "When do you open\?" of "We open/,
      ) as string,
    },
  ]);
  expect(model.requests).toHaveLength(1);
  expect(speech.requests.map(({ kind }) => kind)).toEqual(['speech', 'transcription']);
  const [, transcription] = speech.requests;
  expect(transcription?.kind === 'transcription' && readSound(transcription.file, 1).pcm).toHaveLength(24_000);
});

test('a binding that is not set is ok, and its detail names the settings', async () => {
  const checks = await examine({ ai: null, speech: { speechToText: null, textToSpeech: null } });
  expect(checks.map(({ ok, detail }) => [ok, detail.split(';')[0]])).toEqual([
    [true, 'not set for the whole hub'],
    [true, 'not set'],
    [true, 'not set'],
  ]);
  const withoutVoice = { ...bound(), speech: { ...bound().speech, textToSpeech: null } };
  expect((await examine(withoutVoice))[2]).toMatchObject({
    ok: true,
    detail: expect.stringContaining('it received a tone') as string,
  });
});

test.each([
  [401, /answered 401.*The server does not accept the key: set (AI|TTS|STT)_API_KEY/],
  [404, /answered 404.*check (AI|TTS|STT)_MODEL.*\/(chat\/completions|audio\/\w+), which usually ends in \/v1/],
  [429, /answered 429.*Too many requests/],
  [500, /answered 500.*The server has an internal error/],
])('a response with status %i is reported with a remedy', async (status, pattern) => {
  model.reply = () => ({ status });
  speech.reply = () => ({ status });
  for (const check of await examine(bound()))
    expect(check).toMatchObject({ ok: false, detail: expect.stringMatching(pattern) as string });
});

test('an unexpected error is reported for its binding, and the other bindings are still called', async () => {
  const { ai, speech: bindings } = bound();
  const speechToText = { ...bindings.speechToText, apiKey: 'a\nb' };
  expect(await examine({ ai, speech: { ...bindings, speechToText } })).toMatchObject([
    { check: 'model', ok: true },
    { check: 'text-to-speech', ok: true },
    { check: 'speech-to-text', ok: false, detail: expect.stringContaining('STT_API_KEY') as string },
  ]);
});

test('a model that exceeds the time limit of a question is not ok', async () => {
  model.reply = () => ({ parts: Array.from({ length: 200 }, () => 'so '), gapMs: 50 });
  expect(
    (
      await examineBindings(
        { ...bound(), speech: { speechToText: null, textToSpeech: null } },
        { signal: new AbortController().signal, clock: fastClock(100) },
      )
    )[0],
  ).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^alpha did not complete its answer within 30 s\. .*choose a faster model/) as string,
  });
});

test('an HTML page, silent sound, plain HTTP and a closed port are reported with a remedy', async () => {
  const page = { raw: '<!doctype html><p>Sign in', contentType: 'text/html' };
  model.reply = () => page;
  speech.reply = () => page;
  for (const check of await examine(bound()))
    expect(check).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/The server does not speak the expected protocol/) as string,
    });

  speech.reply = (request) =>
    request.kind === 'speech' ? { sound: [Buffer.alloc(48_000)] } : defaultSpeechReply(request);
  expect((await examine(bound()))[1]).toMatchObject({
    ok: false,
    detail: expect.stringContaining('the sound is silent') as string,
  });

  for (const check of await examine(
    bound(model.baseUrl.replace('http:', 'https:'), speech.baseUrl.replace('http:', 'https:')),
  ))
    expect(check).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /does not use TLS on this port\. Should (AI|TTS|STT)_BASE_URL begin with http:\/\/ instead of https:\/\/\?/,
      ) as string,
    });

  const closed = createServer();
  await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
  const nowhere = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/v1`;
  await new Promise<void>((done) => closed.close(() => done()));
  for (const check of await examine(bound(nowhere, nowhere)))
    expect(check).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /ECONNREFUSED.*No server listens there: start it, or correct (AI|TTS|STT)_BASE_URL/,
      ) as string,
    });
});

const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0;
test.skipIf(!hasEspeak)(
  'a voice that espeak-ng does not have is reported with the setting that names it (needs espeak-ng)',
  async () => {
    const withVoice = async (voice: string) => {
      const textToSpeech = { provider: 'espeak' as const, voice };
      return (await examine({ ai: null, speech: { speechToText: null, textToSpeech } }))[1];
    };
    expect(await withVoice('de')).toMatchObject({ ok: true });
    expect(await withVoice('nobody')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/no voice "nobody"; set TTS_VOICE to one of espeak-ng --voices/) as string,
    });
  },
);
