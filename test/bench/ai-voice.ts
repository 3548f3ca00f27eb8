import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FormData, request } from 'undici';
import type { VoiceFrame, VoiceRequestFrame } from '../../shared/contract/ai/voice.ts';
import { defaultSpeechReply, tone } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import { openVoice } from '../fixtures/voice-page.ts';
import type { VoicePage } from '../fixtures/voice-page.ts';
import { nextFrame } from './ai-chat.ts';
import type { AiBench } from './ai-chat.ts';
import { signIn, startBenchHub } from './hub.ts';
import { compared } from './table.ts';

const rounds = 40;
const warmRounds = 5;
const delaysMs = { transcription: 300, model: 300, speech: 150 };
const deadlineMs = 30_000;
const answer = 'We open at nine.';
const question = readFileSync(join(import.meta.dirname, '../fixtures/question.wav')).toString('base64');

/** Titles of the tables, in order. */
export const voiceTitles = {
  turns: `A spoken question, ${rounds} in turn; speech to text takes ${delaysMs.transcription} ms, the model ${delaysMs.model}, text to speech ${delaysMs.speech}`,
  interruptions: `An interruption, ${rounds} of each`,
};

/** Settings of a hub with speech-to-text and text-to-speech by this server. */
export const speechSettings = ({ baseUrl }: SpeechServer) => ({
  STT_BASE_URL: baseUrl,
  STT_MODEL: 'ears',
  TTS_BASE_URL: baseUrl,
  TTS_MODEL: 'mouth',
});

/**
 * Duration of each stage, measured from the end of the previous one. The last two are measured from the end of the
 * speech.
 */
interface Stages {
  transcribe: number;
  firstText: number;
  firstAudio: number;
  toFirstAudio: number;
  whole: number;
}

/** Posts to a server directly. Returns the times of the first and the last byte of the response. */
async function post({ dispatcher }: AiBench, url: string, body: FormData | object) {
  const isForm = body instanceof FormData;
  const answered = await request(url, {
    method: 'POST',
    dispatcher,
    body: isForm ? body : JSON.stringify(body),
    ...(isForm ? {} : { headers: { 'content-type': 'application/json' } }),
    signal: AbortSignal.timeout(deadlineMs),
  });
  let firstAt: number | null = null;
  for await (const _chunk of answered.body) firstAt ??= performance.now();
  if (answered.statusCode !== 200 || firstAt === null) throw new Error(`${url} answered ${answered.statusCode}`);
  return { firstAt, lastAt: performance.now() };
}

const speakDirectly = (bench: AiBench) =>
  post(bench, `${bench.speech.baseUrl}/audio/speech`, { model: 'mouth', input: answer, voice: 'a' });

async function speakByEspeak() {
  const child = spawn('espeak-ng', ['--stdin', '--stdout', '-b', '1', '-v', 'en'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    signal: AbortSignal.timeout(deadlineMs),
  });
  const closed = once(child, 'close');
  child.stdin.end(answer);
  let firstAt = Number.NaN;
  child.stdout.once('data', () => {
    firstAt = performance.now();
    child.stdout.resume();
  });
  await closed;
  return { firstAt, lastAt: performance.now() };
}

/** Calls the servers directly, one after the other. */
async function measureDirectTurn(
  bench: AiBench,
  speak: (bench: AiBench) => ReturnType<typeof speakDirectly>,
): Promise<Stages> {
  const { speech, model } = bench;
  const spokenAt = performance.now();
  const form = new FormData();
  form.set('model', 'ears');
  form.set('file', new File([Buffer.from(question, 'base64')], 'question.wav', { type: 'audio/wav' }));
  const { lastAt: understoodAt } = await post(bench, `${speech.baseUrl}/audio/transcriptions`, form);
  const messages = [{ role: 'user', content: 'When do you open?' }];
  const modelRequest = { model: 'bench', messages, stream: true };
  const { lastAt: answeredAt } = await post(bench, `${model.baseUrl}/chat/completions`, modelRequest);
  const { firstAt, lastAt } = await speak(bench);
  return {
    transcribe: understoodAt - spokenAt,
    firstText: answeredAt - understoodAt,
    firstAudio: firstAt - answeredAt,
    toFirstAudio: firstAt - spokenAt,
    whole: lastAt - spokenAt,
  };
}

/** Returns the time at which the page receives a frame. @throws when the hub reports a failure. */
const frameAt = (page: VoicePage, type: VoiceFrame['type']) =>
  nextFrame(page, (frame) => {
    if (frame.type === 'error') throw new Error(`${frame.code}: ${frame.data}`);
    return frame.type === type;
  });

async function measureVoiceTurn(page: VoicePage): Promise<Stages> {
  page.frames.length = 0;
  const spokenAt = performance.now();
  page.send({ type: 'audio', data: question });
  const firstAudioAt = await frameAt(page, 'audio');
  const doneAt = await frameAt(page, 'done');
  const {
    transcribe = Number.NaN,
    firstText = Number.NaN,
    firstAudio = Number.NaN,
  } = page.of('done')[0]?.latencyMs ?? {};
  return { transcribe, firstText, firstAudio, toFirstAudio: firstAudioAt - spokenAt, whole: doneAt - spokenAt };
}

async function measureRequestTurn({ session, tenantId }: AiBench): Promise<number> {
  const startedAt = performance.now();
  const { audioBase64 } = await session.call('answerVoice', {
    params: { tenantId },
    body: { audioBase64: question, sampleRate: 24_000 },
  });
  if (audioBase64 === '') throw new Error('nothing was answered');
  return performance.now() - startedAt;
}

/** Each round measures all variants, so that other load on the machine affects all of them equally. */
async function measureInTurn<Result>(work: () => Promise<Result>): Promise<Result[]> {
  for (let warm = 0; warm < warmRounds; warm += 1) await work();
  const results: Result[] = [];
  while (results.length < rounds) results.push(await work());
  return results;
}

const row = (what: string, samples: number[], direct: number[] | null = null, aim = '') => ({
  ...compared(what, samples, direct),
  aim,
});
const of = (stage: keyof Stages, turns: Stages[]) => turns.map((turn) => turn[stage]);

/**
 * Measures the time from the end of the speech to the audio of the answer, compared with a client that calls the same
 * servers.
 */
export async function measureTurns(bench: AiBench): Promise<Record<string, string>[]> {
  const { hub, model, speech, sessionToken } = bench;
  model.reply = () => delay(delaysMs.model, answer);
  speech.reply = (modelRequest) => delay(delaysMs[modelRequest.kind], defaultSpeechReply(modelRequest));
  const page = await openVoice(hub.url, sessionToken);
  const results = await measureInTurn(async () => ({
    direct: await measureDirectTurn(bench, speakDirectly),
    byVoice: await measureVoiceTurn(page),
    requested: await measureRequestTurn(bench),
  }));
  page.end();
  const direct = results.map((each) => each.direct);
  const byVoice = results.map((each) => each.byVoice);
  const requested = results.map((each) => each.requested);
  const stage = (name: keyof Stages) => [of(name, byVoice), of(name, direct)] as const;
  return [
    row('the servers called directly: end of the speech to first audio', of('toFirstAudio', direct)),
    row('by the hub', ...stage('toFirstAudio'), 'p50 850 ms, added 60 ms'),
    row('of which: transcription', ...stage('transcribe')),
    row('of which: from the transcript to the first sentence', ...stage('firstText')),
    row('of which: from the first sentence to its first audio', ...stage('firstAudio')),
    row('POST …/ai/voice, the whole answer', requested, of('whole', direct)),
    ...(await measureEspeak(bench)),
  ];
}

/** The same with espeak-ng. Returns no rows without it. */
async function measureEspeak(bench: AiBench): Promise<Record<string, string>[]> {
  if (spawnSync('espeak-ng', ['--version']).status !== 0) return [];
  const { model, speech } = bench;
  await using hub = await startBenchHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'bench',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_PROVIDER: 'espeak',
  });
  const page = await openVoice(hub.url, await signIn(hub));
  const results = await measureInTurn(async () => ({
    direct: await measureDirectTurn(bench, speakByEspeak),
    byVoice: await measureVoiceTurn(page),
  }));
  page.end();
  const direct = results.map((each) => each.direct);
  const byVoice = results.map((each) => each.byVoice);
  return [
    row('espeak-ng as text to speech, called directly', of('toFirstAudio', direct)),
    row('espeak-ng, by the hub', of('toFirstAudio', byVoice), of('toFirstAudio', direct)),
    row('of which: from the first sentence to its first audio', of('firstAudio', byVoice), of('firstAudio', direct)),
  ];
}

/** Returns the time at which a condition becomes true, within a millisecond. */
async function timeOf(holds: () => boolean): Promise<number> {
  const signal = AbortSignal.timeout(deadlineMs);
  while (!holds()) await delay(1, undefined, { signal });
  return performance.now();
}

interface Moment {
  while: string;
  spoken: VoiceRequestFrame;
  /** Waits until the turn reaches this stage. */
  reached: (page: VoicePage) => Promise<unknown>;
  /** Connections to servers that are open at this stage. */
  connections: number;
}

/** Measures the time from an interruption to its `done` frame, and to the end of all connections to the servers. */
export async function measureInterruptions(bench: AiBench): Promise<Record<string, string>[]> {
  const { hub, model, speech, dispatcher, sessionToken } = bench;
  const typed = { type: 'text', data: 'When do you open?' } as const;
  const closings = () => model.aborted + speech.aborted;
  const moments: Moment[] = [
    {
      while: 'it is written down',
      spoken: { type: 'audio', data: question },
      reached: () => timeOf(() => speech.requests.length > 0),
      connections: 1,
    },
    {
      while: 'the model thinks',
      spoken: typed,
      reached: () => timeOf(() => model.requests.length > 0),
      connections: 1,
    },
    { while: 'it is spoken', spoken: typed, reached: (page) => frameAt(page, 'audio'), connections: 2 },
  ];
  const direct: number[] = [];
  model.reply = () => 'hang';
  for (let round = -warmRounds; round < rounds; round += 1) {
    model.requests.length = 0;
    const stop = new AbortController();
    const before = closings();
    const modelRequest = request(`${model.baseUrl}/chat/completions`, {
      method: 'POST',
      dispatcher,
      body: JSON.stringify({ model: 'bench', messages: [] }),
      signal: stop.signal,
    }).catch(() => undefined);
    await timeOf(() => model.requests.length > 0);
    const stoppedAt = performance.now();
    stop.abort();
    const closedAt = await timeOf(() => closings() > before);
    await modelRequest;
    if (round >= 0) direct.push(closedAt - stoppedAt);
  }
  const rows = [row('a direct client that aborts its call: to its closed connection', direct)];
  const page = await openVoice(hub.url, sessionToken);
  for (const { while: when, spoken, reached, connections } of moments) {
    const toDone: number[] = [];
    const toClosed: number[] = [];
    model.reply = () => (connections === 1 ? 'hang' : { parts: [`${answer} `, 'And '], finish: 'stall' });
    speech.reply = ({ kind }) => (kind === 'transcription' ? 'hang' : { stalled: tone(0.5, 24_000) });
    for (let round = -warmRounds; round < rounds; round += 1) {
      page.frames.length = model.requests.length = speech.requests.length = 0;
      const before = closings();
      page.send(spoken);
      await reached(page);
      const interruptedAt = performance.now();
      page.send({ type: 'interrupt' });
      const [doneAt, closedAt] = await Promise.all([
        frameAt(page, 'done'),
        timeOf(() => closings() >= before + connections),
      ]);
      if (round < 0) continue;
      toDone.push(doneAt - interruptedAt);
      toClosed.push(closedAt - interruptedAt);
    }
    rows.push(
      row(`while ${when}: to \`done\``, toDone, null, '50 ms'),
      row(`while ${when}: to closed connections at the servers`, toClosed, direct),
    );
  }
  page.end();
  return rows;
}
