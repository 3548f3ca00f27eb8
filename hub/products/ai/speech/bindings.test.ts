import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startUntrustedServer } from '../../../../test/fixtures/certificates.ts';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { startSpeechServer, tone } from '../../../../test/fixtures/speech-server.ts';
import type { SpeechReply, SpeechServer } from '../../../../test/fixtures/speech-server.ts';
import type { Clock } from '../../../platform/clock.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { SpeechFailed } from './failure.ts';
import type { SpeechFailure } from './failure.ts';
import { createOpenAiVoice } from './openai-voice.ts';
import type { SpeechCall } from './retry.ts';
import { readSound, toWav } from './sound.ts';
import type { SpeakRequest, Speech } from './speech.ts';
import { createTranscriptions } from './transcriptions.ts';

const clock = fastClock(15);
let server: SpeechServer;
let egress: Egress;
let calls: SpeechCall[];
const onCall = (call: SpeechCall) => void calls.push(call);

beforeAll(async () => {
  server = await startSpeechServer();
  egress = createEgress({ allowHosts: ['127.0.0.1'], clock });
});
afterAll(async () => {
  await egress[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  calls = [];
  server.requests.length = 0;
  server.aborted = 0;
});

const never = new AbortController().signal;
const binding = (baseUrl = server.baseUrl) => ({ baseUrl, model: 'm-1', apiKey: 'the-key' });
const speechToText = (baseUrl?: string) => createTranscriptions(egress, binding(baseUrl), { clock, onCall });
const textToSpeech = (baseUrl?: string) =>
  createOpenAiVoice(egress, { ...binding(baseUrl), voice: 'alloy' }, { clock, onCall });
const utterance = { pcm: tone(0.5, 8_000), sampleRate: 8_000 };

async function speak(request: Omit<SpeakRequest, 'signal'>, baseUrl?: string): Promise<Speech[]> {
  const parts: Speech[] = [];
  for await (const part of textToSpeech(baseUrl).speak({ signal: never, ...request })) parts.push(part);
  return parts;
}
const soundOf = (parts: Speech[]) => Buffer.concat(parts.map(({ pcm }) => pcm));
const replying = (...replies: SpeechReply[]) => {
  server.reply = () => (replies.length > 1 ? replies.shift() : replies[0]) as SpeechReply;
};
const outcomes = () => calls.map(({ stage, outcome }) => `${stage} ${outcome}`);

describe('a transcription', () => {
  test('is requested as the protocol requires, with a complete WAV and the language without a region', async () => {
    replying(' When do you open? ');
    expect(await speechToText().transcribe({ ...utterance, language: 'pt-BR', signal: never })).toEqual({
      text: 'When do you open?',
      ms: expect.any(Number) as number,
    });
    expect(server.requests).toMatchObject([
      { kind: 'transcription', model: 'm-1', language: 'pt', responseFormat: 'json', fileName: 'speech.wav' },
    ]);
    const [request] = server.requests;
    expect(request?.headers.authorization).toBe('Bearer the-key');
    if (request?.kind !== 'transcription') throw new Error('no transcription');
    expect(readSound(request.file, 1)).toEqual(utterance);
    expect(outcomes()).toEqual(['speech_to_text done']);
  });

  test('of silence returns an empty text without calling the provider', async () => {
    expect(await speechToText().transcribe({ pcm: Buffer.alloc(16_000), sampleRate: 8_000, signal: never })).toEqual({
      text: '',
      ms: 0,
    });
    expect(server.requests).toHaveLength(0);
  });

  test('without words returns an empty text', async () => {
    replying('');
    expect((await speechToText().transcribe({ ...utterance, signal: never })).text).toBe('');
  });
});

describe('speech', () => {
  const sound = tone(0.2, 24_000);

  test('is requested as the protocol requires, and yielded while it arrives, even if a sample is split', async () => {
    server.reply = () => ({ sound: [sound.subarray(0, 101), sound.subarray(101)] });
    const parts = await speak({ text: 'At nine.', voice: 'nova' });
    expect(soundOf(parts)).toEqual(sound);
    expect(parts.every(({ sampleRate }) => sampleRate === 24_000)).toBe(true);
    expect(server.requests).toMatchObject([
      { kind: 'speech', model: 'm-1', input: 'At nine.', voice: 'nova', responseFormat: 'pcm' },
    ]);
    expect(server.requests[0]?.headers.authorization).toBe('Bearer the-key');
    // The first part is yielded while the server delays the rest.
    replying({ stalled: sound });
    const stream = textToSpeech().speak({ text: 'At nine.', signal: never })[Symbol.asyncIterator]();
    expect((await stream.next()).value?.pcm).toEqual(sound);
    await stream.return?.();
    await expect.poll(() => server.aborted).toBe(1);
    expect(outcomes()).toEqual(['text_to_speech done', 'text_to_speech aborted']);
  });

  test('is decoded at the declared sample rate and from WAV', async () => {
    replying({ sound: [sound], contentType: 'audio/pcm;rate=16000;channels=1' });
    expect((await speak({ text: 'x' }))[0]?.sampleRate).toBe(16_000);
    replying({ sound: [toWav({ pcm: sound, sampleRate: 22_050 })], contentType: 'audio/wav' });
    const parts = await speak({ text: 'x' });
    expect([parts[0]?.sampleRate, soundOf(parts)]).toEqual([22_050, sound]);
  });

  test('of a long text is requested in several inputs, and a text without words is not requested', async () => {
    replying({ sound: [sound] });
    const text = 'This is a sentence. '.repeat(250);
    await speak({ text });
    const inputs = server.requests.map((request) => (request.kind === 'speech' ? request.input : ''));
    expect(inputs.join('')).toBe(text);
    expect(inputs).toHaveLength(3);
    expect(await speak({ text: '... 😀' })).toEqual([]);
    expect(server.requests).toHaveLength(3);
  });
});

const html = { raw: '<!doctype html><p>Sign in', contentType: 'text/html' };
/** Server behaviour, the resulting failure of each stage, and the number of requests. */
const failures: readonly (readonly [string, SpeechReply, SpeechFailure, number])[] = [
  ['resets', 'reset', 'reset', 2],
  ['400', { status: 400, error: { code: 'bad_audio' } }, 'status', 1],
  ['401', { status: 401, error: { code: 'invalid_api_key' } }, 'status', 1],
  ['403', { status: 403 }, 'status', 1],
  ['404', { status: 404 }, 'status', 1],
  ['408', { status: 408 }, 'status', 2],
  ['409', { status: 409 }, 'status', 2],
  ['413', { status: 413 }, 'status', 1],
  ['429', { status: 429 }, 'status', 2],
  ['429 for a second', { status: 429, headers: { 'retry-after': '1' } }, 'status', 2],
  ['429 for a minute', { status: 429, headers: { 'retry-after': '60' } }, 'status', 1],
  ['500', { status: 500 }, 'status', 2],
  ['529', { status: 529 }, 'status', 2],
  ['200 with HTML', html, 'rubbish', 2],
  ['silence before the first byte', 'hang', 'stalled_before_first_byte', 2],
];

describe.each([
  [
    'speech_to_text',
    (baseUrl?: string) => speechToText(baseUrl).transcribe({ ...utterance, signal: never }),
    [
      ['an empty answer', { raw: '' }, 'rubbish', 2],
      ['JSON of something else', { raw: '{"words":[]}' }, 'rubbish', 2],
      ['cut JSON that ends', { raw: '{"text":"When do' }, 'rubbish', 2],
      ['a cut answer', { cut: '{"text":"When do' }, 'reset', 2],
      // The second attempt has less time left than the idle timeout.
      ['silence after the first byte', { stalled: '{"text":' }, 'timeout', 2],
    ],
  ],
  [
    'text_to_speech',
    (baseUrl?: string) => speak({ text: 'At nine.' }, baseUrl),
    [
      ['an empty answer', { raw: '' }, 'empty', 2],
      ['JSON', { raw: '{"audio":"AAAA"}', contentType: 'application/json' }, 'rubbish', 2],
      ['HTML that says that it is sound', { raw: html.raw, contentType: 'audio/pcm' }, 'rubbish', 2],
      ['another format', { raw: 'OggS00000000', contentType: 'audio/ogg' }, 'rubbish', 2],
      ['a WAV without samples', { raw: 'RIFF0000WAVE', contentType: 'audio/wav' }, 'rubbish', 2],
      // No retry after a part was yielded, because it would be spoken twice.
      ['a cut answer', { cut: tone(0.1, 24_000) }, 'reset', 1],
      ['silence after the first byte', { stalled: tone(0.1, 24_000) }, 'stalled_after_first_byte', 1],
    ],
  ],
] as const)('%s', (stage, call, stageFailures) => {
  test.each([...failures, ...stageFailures] as (typeof failures)[number][])(
    'a server that sends %s fails with the expected kind, after the expected number of attempts',
    async (_name, reply, kind, tries) => {
      replying(reply);
      const error: unknown = await call().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(SpeechFailed);
      expect(error).toMatchObject({ stage, kind, code: 'speech_failed' });
      expect((error as Error).message).not.toContain('quotes');
      expect(server.requests).toHaveLength(tries);
      expect(calls).toHaveLength(tries);
      if (typeof reply === 'object' && 'status' in reply)
        expect(error).toMatchObject({
          answeredStatus: reply.status,
          message: expect.stringContaining(`m-1 answered ${reply.status}`) as string,
        });
    },
  );

  test('a server that does not listen fails with `connect_refused` after a retry', async () => {
    const closed = createServer();
    await new Promise<void>((done) => closed.listen(0, '127.0.0.1', done));
    const { port } = closed.address() as AddressInfo;
    await new Promise<void>((done) => closed.close(() => done()));
    await expect(call(`http://127.0.0.1:${port}/v1`)).rejects.toMatchObject({ kind: 'connect_refused', stage });
    expect(outcomes()).toEqual([`${stage} connect_refused`, `${stage} connect_refused`]);
  });

  test('a server with an untrusted certificate receives no request and is not retried', async () => {
    await using untrusted = await startUntrustedServer();
    await expect(call(`https://${untrusted.host}/v1`)).rejects.toMatchObject({ kind: 'tls', stage });
    expect(outcomes()).toEqual([`${stage} tls`]);
    expect(untrusted.requests).toBe(0);
  });

  test('a retryable failure is hidden by a successful retry', async () => {
    const good = stage === 'speech_to_text' ? 'Hello' : { sound: [tone(0.1, 24_000)] };
    replying({ status: 503 }, good);
    await call();
    expect(outcomes()).toEqual([`${stage} http_5xx`, `${stage} done`]);
  });
});

test.each(['hang', { stalled: Buffer.from('{"text"') }] as const)(
  'an abort closes the connection immediately and rejects with the reason of the signal (%j)',
  async (reply) => {
    // Without timeouts, only the abort can end a silent connection.
    const stopped: Clock = { now: () => 0, after: () => ({ [Symbol.dispose]: () => undefined }) };
    await using slow = createEgress({ allowHosts: ['127.0.0.1'], clock: stopped });
    const options = { clock: stopped, onCall };
    replying(reply);
    for (const call of [
      (signal: AbortSignal) => createTranscriptions(slow, binding(), options).transcribe({ ...utterance, signal }),
      async (signal: AbortSignal) => {
        const silent = createOpenAiVoice(slow, { ...binding(), voice: 'alloy' }, options);
        for await (const part of silent.speak({ text: 'At nine.', signal })) expect(part.pcm.length).toBeGreaterThan(0);
      },
    ]) {
      server.aborted = 0;
      server.requests.length = 0;
      const abort = new AbortController();
      const reason = new Error('enough');
      const ended = call(abort.signal).catch((error: unknown) => error);
      await expect.poll(() => server.requests.length).toBe(1);
      abort.abort(reason);
      await expect.poll(() => [server.aborted, server.open]).toEqual([1, 0]);
      expect(await ended).toBe(reason);
    }
    expect(outcomes()).toEqual(['speech_to_text aborted', 'text_to_speech aborted']);
  },
);
