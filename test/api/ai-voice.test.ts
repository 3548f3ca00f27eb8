import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../hub/platform/observability/logger.ts';
import { FairSemaphore } from '../../hub/products/ai/runs/index.ts';
import { readSound, toWav } from '../../hub/products/ai/speech/sound.ts';
import { VoiceAnswers } from '../../hub/products/ai/voice/voice-answers.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { defaultSpeechReply, startSpeechServer, tone } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
let workspace: TestWorkspace;
let log = '';
const reply = '**We open** at nine. See [our page](https://example.com/x).';

beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
  const lines = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log += chunk.toString();
      done();
    },
  });
  hub = await startHub(
    {
      AI_BASE_URL: model.baseUrl,
      AI_MODEL: 'alpha',
      STT_BASE_URL: speech.baseUrl,
      STT_MODEL: 'ears',
      STT_API_KEY: 'key-of-the-ears',
      TTS_BASE_URL: `${speech.baseUrl}/`,
      TTS_MODEL: 'voice',
      RATE_LIMIT_PER_MINUTE: '100000',
    },
    undefined,
    { logger: createLogger({ level: 'trace', format: 'json', color: false }, lines) },
  );
  workspace = await hub.workspace();
});
afterAll(async () => {
  for (const ended of [hub, model, speech]) await ended[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.requests.length = 0;
  speech.requests.length = 0;
  model.reply = () => reply;
  speech.reply = defaultSpeechReply;
});

const ask = (
  body: unknown,
  { own = workspace, token = own.jwt, headers = {} }: { own?: TestWorkspace; token?: string; headers?: object } = {},
) =>
  send(hub.url, 'POST', `/tenants/${own.tenantId}/ai/voice`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const soundIn = (answer: { body: Record<string, unknown> }) =>
  Buffer.from(answer.body['audioBase64'] as string, 'base64');
const empty = { text: '', audioBase64: '', done: true };

describe('a spoken question on the phone', () => {
  test('is transcribed, answered from the knowledge of the workspace, and spoken at the requested sample rate', async () => {
    await workspace.session.call('putKnowledge', {
      params: { tenantId: workspace.tenantId },
      body: {
        entries: [{ id: 'hours', question: 'When do you open?', answer: 'At nine, on Mondays at ten.' }],
        terms: '',
      },
    });
    const pcm = tone(0.5, 8_000);
    const answer = await ask({ audioBase64: base64(pcm), sampleRate: 8_000, locale: 'en' });
    expect(answer).toMatchObject({ status: 200, body: { done: true } });
    expect(Object.keys(answer.body).toSorted()).toEqual(['audioBase64', 'done', 'text']);
    expect(answer.body['text']).toContain('We open');
    // The speech server returns half a second of sound.
    expect(soundIn(answer)).toHaveLength(2 * 0.5 * 8_000);
    const [transcription, said] = speech.requests;
    if (transcription?.kind !== 'transcription' || said?.kind !== 'speech') throw new Error('not asked in their order');
    expect(readSound(transcription.file, 1)).toEqual({ pcm, sampleRate: 8_000 });
    expect([transcription.model, transcription.language, transcription.headers.authorization]).toEqual([
      'ears',
      'en',
      'Bearer key-of-the-ears',
    ]);
    expect([said.model, said.voice, said.headers.authorization]).toEqual(['voice', 'alloy', undefined]);
    expect(said.input).not.toMatch(/[*[\]]/);
    expect(model.requests[0]?.messages.map(({ content }) => content).join('\n')).toMatch(
      /on the phone[^]*English[^]*\| At nine, on Mondays at ten\.[^]*When do you open\?$/,
    );
  });

  test('may be text only, text with audio, or a WAV with its own sample rate', async () => {
    const answer = await ask({ text: 'Do you rent boats?' });
    expect(answer.status).toBe(200);
    expect(soundIn(answer)).toHaveLength(2 * 0.5 * 16_000);
    expect(speech.requests.map(({ kind }) => kind)).toEqual(['speech']);

    const wav = toWav({ pcm: tone(0.3, 44_100), sampleRate: 44_100 });
    expect((await ask({ text: 'I am Ada.', audioBase64: base64(wav), sampleRate: 24_000 })).status).toBe(200);
    const transcription = speech.requests[1];
    expect(transcription?.kind === 'transcription' && readSound(transcription.file, 1).sampleRate).toBe(44_100);
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toMatch(/I am Ada\.\nWhen do you open\?$/);
  });

  test('returns an empty answer without calling the model if the audio contains no speech', async () => {
    for (const body of [
      undefined,
      {},
      { text: '  ' },
      { text: '', audioBase64: '' },
      { audioBase64: base64(Buffer.alloc(32_000)) },
      { audioBase64: base64(toWav({ pcm: new Uint8Array(), sampleRate: 8_000 })) },
      { audioBase64: base64(Buffer.from([1])) },
    ])
      expect(await ask(body)).toMatchObject({ status: 200, body: empty });
    expect(speech.requests).toHaveLength(0);
    speech.reply = () => ' ';
    expect((await ask({ audioBase64: base64(tone(1, 16_000)) })).body).toEqual(empty);
    expect(speech.requests).toHaveLength(1);
    expect(model.requests).toHaveLength(0);
  });

  test('may have a longer body than other requests', async () => {
    const answer = await ask({ audioBase64: base64(tone(60, 16_000)) });
    expect(answer.status).toBe(200);
    expect(speech.requests[0]?.kind === 'transcription' && speech.requests[0].file.length).toBe(44 + 60 * 32_000);
  });

  test.each([
    [{ audioBase64: '???' }, 'body.audioBase64', 'must be base64'],
    [{ audioBase64: base64(Buffer.from('OggS00000000')) }, 'body.audioBase64', 'must be PCM or WAV (it is Ogg)'],
    [{ audioBase64: base64(Buffer.from('RIFF0000WAVE0000')) }, 'body.audioBase64', 'must be a WAV with samples'],
    [
      { audioBase64: base64(Buffer.alloc(301 * 16_000)), sampleRate: 8_000 },
      'body.audioBase64',
      'must last at most 300 s (it lasts 301 s)',
    ],
    [{ sampleRate: 7_999 }, 'body.sampleRate', 'must be a whole number from 8000 to 48000'],
    [{ sampleRate: 48_001 }, 'body.sampleRate', 'must be a whole number from 8000 to 48000'],
    [{ sampleRate: 16_000.5 }, 'body.sampleRate', 'must be a whole number from 8000 to 48000'],
    [{ locale: 'a language' }, 'body.locale', 'must be a language code, such as de or pt-BR'],
    [{ text: 'x'.repeat(4_001) }, 'body.text', expect.any(String)],
  ])('with an invalid body is rejected with the name of the field (%#)', async (body, path, message) => {
    const answer = await ask(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', details: [{ path, message }] } });
    expect([...speech.requests, ...model.requests]).toHaveLength(0);
  });

  test('requires the phone, the AI agent, and a member or an API key with ai:voice', async () => {
    const own = await hub.workspace();
    const entitle = (entitlements: Record<string, boolean>) =>
      hub.client(adminKey).call('putEntitlements', { params: { tenantId: own.tenantId }, body: entitlements });
    for (const entitlements of [
      { business_phone: false, ai_agent: true },
      { business_phone: true, ai_agent: false },
    ]) {
      await entitle(entitlements);
      for (const body of [{}, { text: 'x' }])
        expect(await ask(body, { own })).toMatchObject({ status: 403, body: { code: 'product_not_entitled' } });
    }
    await entitle({ ai_agent: true });
    expect((await ask({ text: 'x' }, { own })).status).toBe(200);
    expect((await ask({ text: 'x' }, { own, token: workspace.jwt })).status).toBe(404);
    expect((await ask({ text: 'x' }, { own, token: own.keys.ai as string })).status).toBe(200);
    const { key } = await own.createKey({ product: 'ai', permissions: ['ai:invoke'] });
    expect((await ask({ text: 'x' }, { own, token: key })).status).toBe(403);
  });

  test('fails with the name of the failed stage, and later stages are not called', async () => {
    const audioBase64 = base64(tone(0.5, 16_000));
    speech.reply = () => ({ status: 401, error: { code: 'invalid_api_key' } });
    expect(await ask({ audioBase64 })).toMatchObject({
      status: 503,
      body: { code: 'speech_failed', message: 'Speech-to-text: ears answered 401 (invalid_api_key).' },
    });
    expect(model.requests).toHaveLength(0);
    expect(await ask({ text: 'x' })).toMatchObject({
      status: 503,
      body: { code: 'speech_failed', message: 'Text-to-speech: voice answered 401 (invalid_api_key).' },
    });
    speech.reply = () => ({ status: 429, headers: { 'retry-after': '40' } });
    const busy = await ask({ audioBase64 });
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '40']);
    model.reply = () => ({ status: 400 });
    expect(await ask({ text: 'x' })).toMatchObject({ status: 503, body: { code: 'inference_failed' } });
  });

  test.each(['transcription', 'speech'])('is aborted when the caller disconnects (%s)', async (kind) => {
    speech.reply = (request) => (request.kind === kind ? 'hang' : defaultSpeechReply(request));
    const gone = new AbortController();
    const asked = fetch(`${hub.url}/tenants/${workspace.tenantId}/ai/voice`, {
      method: 'POST',
      headers: { authorization: `Bearer ${workspace.jwt}`, 'content-type': 'application/json' },
      body: JSON.stringify({ audioBase64: base64(tone(0.5, 16_000)) }),
      signal: gone.signal,
    });
    asked.catch(() => undefined);
    await expect.poll(() => speech.requests.some((request) => request.kind === kind)).toBe(true);
    expect(speech.open).toBe(1);
    gone.abort();
    await expect.poll(() => speech.open).toBe(0);
    // A call that ends at its own time limit has another outcome.
    const stage = kind === 'transcription' ? 'speech_to_text' : 'text_to_speech';
    await expect
      .poll(async () => (await send(hub.url, 'GET', '/metrics')).text)
      .toContain(`outrigger_speech_calls_total{stage="${stage}",outcome="aborted"`);
  });

  test('returns no answer to a caller who signed out meanwhile', async () => {
    const own = await hub.workspace();
    speech.reply = async (request) => {
      await own.session.call('logOut');
      return defaultSpeechReply(request);
    };
    expect(await ask({ text: 'x' }, { own })).toMatchObject({ status: 401 });
    expect(speech.requests).toHaveLength(1);
  });

  test('is not stored for a repeat', async () => {
    const headers = { 'idempotency-key': 'the-same' };
    for (const count of [1, 2]) {
      const answer = await ask({ text: 'x' }, { headers });
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null]);
      expect(model.requests).toHaveLength(count);
    }
  });

  test('costs one read of the workspace models, and one more for audio', async () => {
    const looks = async (body: unknown) => {
      using recorder = new StatementRecorder(9);
      await ask(body);
      return recorder.statements.filter(({ name }) => name === 'read_models').length;
    };
    expect(await looks({})).toBe(0);
    expect(await looks({ text: 'x' })).toBe(1);
    expect(await looks({ audioBase64: base64(tone(0.5, 16_000)) })).toBe(2);
  });

  test('is counted by stage and outcome, and does not appear in the log', async () => {
    const metrics = (await send(hub.url, 'GET', '/metrics')).text;
    for (const line of [
      /outrigger_speech_calls_total\{stage="speech_to_text",outcome="done"[^}]*\} \d/,
      /outrigger_speech_calls_total\{stage="text_to_speech",outcome="http_4xx"[^}]*\} \d/,
      /outrigger_speech_seconds_bucket\{stage="text_to_speech",outcome="done"/,
    ])
      expect(metrics).toMatch(line);
    expect(log).toContain('a request failed');
    for (const word of [
      'When do you open',
      'We open',
      'rent boats',
      'key-of-the-ears',
      'quotes what was said',
      base64(tone(0.01, 16_000)).slice(0, 40),
    ])
      expect(log).not.toContain(word);
  });
});

test('a missing configuration is reported before any provider is called', async () => {
  const speechToText = { transcribe: () => Promise.reject(new Error('asked')) };
  const textToSpeech = {
    speak: () => {
      throw new Error('asked');
    },
  };
  const heard = { pcm: tone(1, 8_000), sampleRate: 8_000 };
  for (const [bindings, isConfigured, message] of [
    [{ speechToText, textToSpeech: null }, true, /No text-to-speech is configured: set TTS_BASE_URL/],
    [{ speechToText: null, textToSpeech }, true, /No speech-to-text is configured: set STT_BASE_URL/],
    [{ speechToText, textToSpeech }, false, /No model is configured/],
  ] as const) {
    const answers = new VoiceAnswers({
      models: { isConfigured: async () => isConfigured },
      speechOf: () => bindings,
      speaking: { answer: () => Promise.reject(new Error('asked')) } as never,
      slots: new FairSemaphore({ perWorkspace: 1, waiting: 0, waitMs: 0 }),
    });
    const utterance = { tenantId: 'x', text: '', sampleRate: 8_000, signal: new AbortController().signal };
    await expect(answers.answer({ ...utterance, speech: heard })).rejects.toMatchObject({
      code: 'ai_binding_not_configured',
      message: expect.stringMatching(message) as string,
    });
    expect(await answers.answer({ ...utterance, speech: null })).toEqual({ text: '', pcm: new Uint8Array() });
  }
});
