import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { avoidPeriodEnd } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { defaultSpeechReply, startSpeechServer, tone } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
let workspace: TestWorkspace;
const answer = 'We open at nine.';

beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
  hub = await startHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'voice',
    SPEECH_DAILY_SECONDS: '10',
    SPEECH_DAILY_CHARACTERS: '1000',
    RATE_LIMIT_PER_MINUTE: '100000',
  });
});
afterAll(async () => {
  for (const ended of [hub, model, speech]) await ended[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await avoidPeriodEnd(86_400_000);
  workspace = await hub.workspace();
  model.requests.length = 0;
  speech.requests.length = 0;
  model.reply = () => answer;
  speech.reply = defaultSpeechReply;
});

const audioBase64 = (seconds: number) => tone(seconds, 8_000).toString('base64');
const ask = (body: object) =>
  send(hub.url, 'POST', `/tenants/${workspace.tenantId}/ai/voice`, {
    headers: { authorization: `Bearer ${workspace.jwt}` },
    body,
  });
const transcribe = (seconds: number) => ask({ audioBase64: audioBase64(seconds), sampleRate: 8_000 });
const inIt = () => ({ params: { tenantId: workspace.tenantId } });
const budget = () => workspace.session.call('getAiBudget', inIt());
const countCalls = (kind: string) => speech.requests.filter((request) => request.kind === kind).length;

test('seconds of transcription are counted and shown, and rejected above the daily limit without calling the provider', async () => {
  expect(await transcribe(6)).toMatchObject({ status: 200 });
  expect(await transcribe(6)).toMatchObject({ status: 429, body: { code: 'ai_budget_used_up' } });
  expect(countCalls('transcription')).toBe(1);
  expect(await transcribe(4)).toMatchObject({ status: 200 });
  const refused = await transcribe(0.5);
  expect(refused).toMatchObject({ status: 429 });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  // The daily speech limit is used up, but the rate limit is not.
  expect(refused.headers.get('x-ratelimit-limit')).toBe('100000');
  expect(Number(refused.headers.get('x-ratelimit-remaining'))).toBeGreaterThan(90_000);
  expect(countCalls('transcription')).toBe(2);
  expect(await budget()).toMatchObject({
    dailySpeechSeconds: 10,
    dailySpeechCharacters: 1_000,
    used: { speechSeconds: 10, speechCharacters: 2 * answer.length },
  });
  expect((await workspace.session.call('getAiUsage', inIt())).speech).toMatchObject([
    { seconds: 10, characters: 2 * answer.length },
  ]);
  // Another workspace has its own limits.
  workspace = await hub.workspace();
  expect(await transcribe(6)).toMatchObject({ status: 200 });
});

test('a workspace can set lower limits, and the limits of the hub cap higher ones', async () => {
  const put = (body: object) =>
    workspace.session.call('putAiBudget', { ...inIt(), body: { dailyTokens: null, dailyCost: null, ...body } });
  expect(await put({ dailySpeechSeconds: 99, dailySpeechCharacters: 20 })).toMatchObject({
    dailySpeechSeconds: 10,
    dailySpeechCharacters: 20,
  });
  expect(await ask({ text: 'When?' })).toMatchObject({ status: 200 });
  expect(await ask({ text: 'When?' })).toMatchObject({ status: 429, body: { code: 'ai_budget_used_up' } });
  expect(countCalls('speech')).toBe(1);
  expect(await put({ dailySpeechCharacters: null })).toMatchObject({ dailySpeechCharacters: 1_000 });
  expect(await ask({ text: 'When?' })).toMatchObject({ status: 200 });
});

test('a used-up model budget rejects transcription, by request and by socket', async () => {
  await workspace.session.call('putAiBudget', { ...inIt(), body: { dailyTokens: 0, dailyCost: null } });
  for (let count = 0; count < 3; count += 1)
    expect(await transcribe(1)).toMatchObject({ status: 429, body: { code: 'ai_budget_used_up' } });
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/ai/voice/ws?token=${workspace.jwt}`);
  const frames: { type?: string; code?: string }[] = [];
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(String(data)) as object));
  await expect.poll(() => socket.readyState).toBe(WebSocket.OPEN);
  socket.send(JSON.stringify({ type: 'config', data: { sampleRate: 8_000 } }));
  socket.send(JSON.stringify({ type: 'audio', data: audioBase64(1) }));
  await expect.poll(() => frames.map(({ code }) => code)).toContain('ai_budget_used_up');
  socket.close();
  expect([countCalls('transcription'), countCalls('speech'), model.requests.length]).toEqual([0, 0, 0]);
});

test('a member may send 60 voice requests per minute', async () => {
  await avoidPeriodEnd(60_000);
  const answers = await Promise.all(Array.from({ length: 61 }, () => ask({ text: '' })));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
  expect(refused[0]?.headers.get('x-ratelimit-limit')).toBe('60');
  expect(refused[0]?.headers.get('x-ratelimit-remaining')).toBe('0');
});
