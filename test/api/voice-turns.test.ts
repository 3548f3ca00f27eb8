import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { voiceFrame } from '../../shared/contract/ai/voice.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { noise, silence, voice } from '../fixtures/sounds.ts';
import { startSpeechServer, tone } from '../fixtures/speech-server.ts';
import type { SpeechRequest, SpeechServer } from '../fixtures/speech-server.ts';
import { until } from '../fixtures/until.ts';
import { openVoice } from '../fixtures/voice-page.ts';
import type { VoicePage } from '../fixtures/voice-page.ts';

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  [model, speech] = await Promise.all([startModelServer(), startSpeechServer()]);
  hub = await startHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'mouth',
  });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await Promise.all([model[Symbol.asyncDispose](), speech[Symbol.asyncDispose]()]);
});

let page: VoicePage;
beforeEach(async () => {
  model.requests.length = 0;
  speech.requests.length = 0;
  model.reply = () => 'At nine. On Sundays we are closed.';
  speech.reply = ({ kind }) => (kind === 'transcription' ? 'When do you open?' : { sound: [tone(0.1, 24_000)] });
  page = await openVoice(hub.url, workspace.jwt);
});
afterEach(async () => {
  page.socket.close();
  await until(
    () => page.closed !== null,
    () => 'it is still open',
  );
});

const spoken = (pcm: Buffer) => ({ type: 'audio', data: pcm.toString('base64') }) as const;
const sentTo = (kind: SpeechRequest['kind']) => speech.requests.filter((request) => request.kind === kind);
const shape = () =>
  page.frames.map((frame) => ('role' in frame ? `${frame.role}: ${frame.data}` : frame.type)).join(' | ');
const listening = { type: 'server_vad', silenceMs: 300, minSpeechMs: 100 } as const;
/** Number of utterances that were back channels and started no turn. */
const countBackChannels = async () =>
  Number(
    /voice_turns_total\{outcome="back_channel"\} (\d+)/.exec(await (await fetch(`${hub.url}/metrics`)).text())?.[1] ??
      0,
  );
/** A sentence long enough to be still playing on a busy machine: the hub sends audio only 3 s ahead. */
const longTone = tone(30, 24_000);
const longSound = () => ({ sound: [longTone] });
/** The distinct questions to the model: the hub retries a request whose answer does not begin within a few seconds. */
const questions = () => [...new Set(model.requests.map(({ messages }) => messages.at(-1)?.content))];
/** The number of the sound to transcribe, from 1. The hub retries a sound whose answer does not begin within 8 s. */
function soundNumberOf(asked: SpeechRequest): number {
  const keyOf = (request: SpeechRequest) => ('file' in request ? request.file.toString('latin1') : '');
  return [...new Set(sentTo('transcription').map(keyOf))].indexOf(keyOf(asked)) + 1;
}

describe('a turn', () => {
  test('of text is answered sentence by sentence with sound, under one id, and ends once', async () => {
    page.send({ type: 'text', data: 'When do you open?' });
    const done = await page.wait('done');
    expect(shape()).toBe(
      'user: When do you open? | assistant: At nine. | audio | assistant:  On Sundays we are closed. | audio | done',
    );
    expect(new Set(page.frames.map((frame) => frame.turnId)).size).toBe(1);
    for (const frame of page.frames) expect(voiceFrame.parse(frame)).toEqual(frame);
    expect(done).toMatchObject({ done: true, interrupted: false });
    expect(Object.keys(done.latencyMs)).toEqual(['firstText', 'firstAudio', 'toFirstAudio', 'total']);
    expect(page.of('audio').map(({ sampleRate, data }) => [sampleRate, Buffer.from(data, 'base64').length])).toEqual([
      [24_000, 4_800],
      [24_000, 4_800],
    ]);
    expect(sentTo('speech').map((request) => ('input' in request ? request.input.trim() : ''))).toEqual([
      'At nine.',
      'On Sundays we are closed.',
    ]);
  });

  test('of sound is transcribed first, and its answer depends on earlier turns', async () => {
    page.send({ type: 'config', data: { sampleRate: 8_000, language: 'en', voice: 'nova' } });
    page.send(spoken(voice(1, 8_000)));
    const { latencyMs } = await page.wait('done');
    expect(Object.keys(latencyMs)).toContain('transcribe');
    page.send({ type: 'text', data: 'And then?' });
    await page.wait('done', 2);
    const [heard] = sentTo('transcription');
    expect(heard).toMatchObject({ language: 'en' });
    expect((heard as { file: Buffer }).file.readUInt32LE(24)).toBe(8_000);
    expect(sentTo('speech')[0]).toMatchObject({ voice: 'nova' });
    const asked = model.requests.at(-1)?.messages ?? [];
    expect(asked.slice(1).map(({ role, content }) => [role, content.slice(-40)])).toEqual([
      ['user', 'When do you open?'],
      ['assistant', 'At nine. On Sundays we are closed.'],
      ['user', 'And then?'],
    ]);
    expect(asked[0]?.content).toContain('Answer in English');
  });

  test('is answered from the knowledge of the business, which is quoted', async () => {
    await workspace.session.call('putKnowledge', {
      params: { tenantId: workspace.tenantId },
      body: { entries: [{ id: 'open', question: 'When do you open?', answer: 'We open at nine.' }], terms: '' },
    });
    page.send({ type: 'text', data: 'When do you open?' });
    await page.wait('done');
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toMatch(/\| We open at nine\./);
  });

  test('is spoken from its first sentence on, while the model continues and the next sentence is synthesised', async () => {
    model.reply = () => ({ parts: ['It is nine. ', 'And then '], finish: 'stall' });
    page.send({ type: 'text', data: 'What time is it?' });
    await page.wait('audio');
    expect(page.of('done')).toEqual([]);
    page.send({ type: 'interrupt' });
    await page.wait('done');

    model.reply = () => 'One. Two. Three.';
    speech.reply = longSound;
    page.send({ type: 'text', data: 'Count.' });
    // The first sentence is longer than the lead of the hub, so it is still being sent.
    await page.wait('audio', 6);
    for (let count = 1; count <= 10; count += 1) {
      page.send({ type: 'text', data: '' });
      await page.wait('error', count);
    }
    expect(sentTo('speech').map((request) => ('input' in request ? request.input.trim() : ''))).toEqual([
      'It is nine.',
      'One.',
      'Two.',
    ]);
    expect(page.of('text').map(({ data }) => data.trim())).not.toContain('Two.');
    page.send({ type: 'interrupt' });
    await page.wait('done', 2);
  });

  test('occupies a slot of the workspace while the model answers, but not while it is spoken', async () => {
    model.reply = () => 'One.';
    speech.reply = longSound;
    page.send({ type: 'text', data: 'Count.' });
    await page.wait('audio');
    const stop = new AbortController();
    model.reply = () => new Promise(() => undefined);
    const others = Array.from({ length: 8 }, () =>
      fetch(`${hub.url}/tenants/${workspace.tenantId}/ai/voice`, {
        method: 'POST',
        headers: { authorization: `Bearer ${workspace.jwt}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'Hello?' }),
        signal: stop.signal,
      }).catch(() => undefined),
    );
    await expect.poll(() => model.requests.length).toBe(9);
    expect(page.of('done')).toEqual([]);
    stop.abort();
    await Promise.all(others);
    page.send({ type: 'interrupt' });
    await page.wait('done');
  });

  test('waits for the turn before it, and the number of waiting turns is limited', async () => {
    speech.reply = () => ({ sound: [tone(0.02, 24_000)] });
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    model.reply = async () => {
      await opened;
      return 'Yes.';
    };
    for (let count = 1; count <= 6; count += 1) page.send({ type: 'text', data: `question ${count}` });
    expect(await page.wait('error')).toMatchObject({ code: 'rate_limited' });
    open();
    await page.wait('done', 5);
    expect(page.of('text').flatMap(({ role, data }) => (role === 'user' ? [data] : []))).toEqual(
      [1, 2, 3, 4, 5].map((count) => `question ${count}`),
    );
  });

  test('that fails sends an error and ends', async () => {
    model.reply = () => ({ status: 400 });
    page.send({ type: 'text', data: 'Hello?' });
    const done = await page.wait('done');
    expect(page.of('error')).toMatchObject([{ turnId: done.turnId, code: 'inference_failed' }]);
    speech.reply = ({ kind }) => (kind === 'transcription' ? { status: 401 } : 'x');
    page.send(spoken(voice(0.5)));
    await page.wait('done', 2);
    expect(page.of('error')[1]).toMatchObject({ code: 'speech_failed', turnId: page.of('done')[1]?.turnId });
  });
});

describe('an interruption', () => {
  test.each([
    ['speech-to-text', () => (speech.reply = () => 'hang'), () => speech.open === 1],
    ['the model', () => (model.reply = () => 'hang'), () => model.requests.length > 0],
    [
      'text-to-speech',
      () => {
        model.reply = () => 'Nine.';
        speech.reply = ({ kind }) => (kind === 'speech' ? 'hang' : 'Hello');
      },
      () => sentTo('speech').length > 0,
    ],
  ])(
    'ends a turn that waits for %s: its provider connection is closed, and no further frame follows',
    async (_name, set, isWaiting) => {
      set();
      page.send(spoken(voice(0.5)));
      await expect.poll(isWaiting).toBe(true);
      const [heard, asked] = [speech.aborted, model.aborted];
      page.send({ type: 'interrupt' });
      expect(await page.wait('done')).toMatchObject({ interrupted: true });
      // Long before any of the timeouts.
      await expect.poll(() => speech.aborted - heard + (model.aborted - asked), { timeout: 8_000 }).toBe(1);
      expect(page.frames.at(-1)?.type).toBe('done');
      model.reply = () => 'Fine.';
      speech.reply = ({ kind }) => (kind === 'speech' ? { sound: [tone(0.1, 24_000)] } : 'Hello');
      page.send({ type: 'text', data: 'Once more.' });
      const [first, second] = [page.of('done')[0]?.turnId, (await page.wait('done', 2)).turnId];
      expect(second).not.toBe(first);
      const place = page.frames.findIndex(({ type }) => type === 'done');
      expect(page.frames.slice(place + 1).map(({ turnId }) => turnId)).not.toContain(first);
    },
  );

  test('cuts the answer in the context to the played part', async () => {
    model.reply = () => 'The first sentence. The second one is never heard.';
    speech.reply = ({ kind }) => (kind === 'speech' ? { sound: [tone(1, 24_000)] } : 'x');
    page.send({ type: 'text', data: 'Tell me.' });
    const { turnId } = await page.wait('done');
    // The page reports the played duration, which overrides the estimate of the hub.
    page.send({ type: 'interrupt', data: { turnId, playedMs: 1_000 } });
    page.send({ type: 'text', data: 'Go on.' });
    await page.wait('done', 2);
    expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toContain('The first sentence.');

    speech.reply = longSound;
    model.reply = () => 'Nobody hears the end of this very long sentence.';
    page.send({ type: 'text', data: 'Again.' });
    await page.wait('audio', 5);
    page.send({ type: 'interrupt' });
    await page.wait('done', 3);
    model.reply = () => 'Good.';
    page.send({ type: 'text', data: 'What did you say?' });
    await expect.poll(() => model.requests.at(-1)?.messages.at(-1)?.content).toBe('What did you say?');
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('end of this');
  });

  test('also ends waiting turns, and has no effect for a finished turn', async () => {
    model.reply = () => 'hang';
    page.send({ type: 'text', data: 'one' });
    page.send({ type: 'text', data: 'two' });
    await expect.poll(() => model.requests.length).toBeGreaterThan(0);
    page.send({ type: 'interrupt', data: { turnId: '0199ffff-0000-7000-8000-000000000000' } });
    page.send({ type: 'text', data: 'three' });
    await expect.poll(() => page.frames.length).toBe(1);
    page.send({ type: 'interrupt' });
    await page.wait('done', 3);
    expect(page.of('done').map(({ interrupted }) => interrupted)).toEqual([true, true, true]);
    expect(questions()).toHaveLength(1);
  });
});

describe('silence and noise', () => {
  test.each([
    ['silence', silence(1)],
    ['noise', noise(1)],
    ['nothing', Buffer.alloc(0)],
  ])('start no turn: %s as an utterance', async (_name, pcm) => {
    page.send(spoken(pcm));
    expect(await page.wait('error')).toMatchObject({ code: 'nothing_heard' });
    expect([page.frames.length, speech.requests.length, model.requests.length]).toEqual([1, 0, 0]);
  });

  test('start no turn in a stream, and neither does speech without a transcript', async () => {
    page.send({ type: 'config', data: { turnDetection: listening } });
    page.stream(Buffer.concat([silence(1), noise(2), silence(1)]));
    speech.reply = () => '';
    page.stream(Buffer.concat([voice(0.6), silence(0.6)]));
    // The turn was announced when a voice was detected, so its end is sent.
    await page.wait('done');
    expect(page.frames.map(({ type }) => type)).toEqual(['text', 'done']);
    expect([speech.requests.length, model.requests.length]).toEqual([1, 0]);
  });
});

describe('speech in a stream', () => {
  beforeEach(() => page.send({ type: 'config', data: { turnDetection: listening } }));

  test('is detected from the first word to the pause, and answered', async () => {
    page.stream(Buffer.concat([silence(0.5), voice(1), silence(0.6)]));
    await page.wait('done');
    expect(shape()).toMatch(/^user: {2}\| user: When do you open\? \| assistant: At nine\. \| audio/);
    expect(new Set(page.frames.map(({ turnId }) => turnId)).size).toBe(1);
    const { file } = sentTo('transcription')[0] as { file: Buffer };
    expect((file.length - 44) / 32_000).toBeGreaterThan(1);
  });

  test('may be WAV with wrong lengths and an unusual sample rate', async () => {
    const head = Buffer.alloc(44);
    head.write('RIFF', 0).toString();
    head.write('WAVEfmt ', 8);
    head.writeUInt32LE(16, 16);
    head.writeUInt16LE(1, 20);
    head.writeUInt16LE(1, 22);
    head.writeUInt32LE(11_025, 24);
    head.writeUInt32LE(22_050, 28);
    head.writeUInt16LE(2, 32);
    head.writeUInt16LE(16, 34);
    head.write('data', 36);
    head.writeUInt32LE(0xffff_ffff, 40);
    page.stream(Buffer.concat([head, voice(1, 11_025), silence(0.8, 11_025)]));
    await page.wait('done');
    expect(page.of('text')[1]?.data).toBe('When do you open?');
  });

  test('is transcribed partially if `partial` is set', async () => {
    page.send({ type: 'config', data: { partial: true } });
    speech.reply = ({ kind }) =>
      kind === 'speech'
        ? { sound: [tone(0.1, 24_000)] }
        : sentTo('transcription').length === 1
          ? 'When do'
          : 'When do you open?';
    page.stream(voice(1.2));
    await page.wait('text', 2);
    page.stream(Buffer.concat([voice(0.5), silence(0.6)]));
    await page.wait('done');
    expect(
      page
        .of('text')
        .slice(0, 3)
        .map(({ data, final }) => [data, final]),
    ).toEqual([
      ['', false],
      ['When do', false],
      ['When do you open?', true],
    ]);
  });

  test('is transcribed partially at real-time intervals, however fast it arrives, and only its end', async () => {
    page.send({ type: 'config', data: { partial: true, turnDetection: { ...listening, silenceMs: 600 } } });
    const sound = voice(20);
    const startedAt = performance.now();
    page.stream(sound.subarray(0, 18 * 32_000));
    await page.wait('text', 2);
    const lengthsOf = () =>
      sentTo('transcription').map((request) => ('file' in request ? request.file.length - 44 : 0));
    // On a busy machine, the first of these transcriptions may begin before all of the sound has arrived.
    await expect
      .poll(
        () => {
          page.stream(voice(0.06));
          return Math.max(...lengthsOf());
        },
        { interval: 50 },
      )
      .toBe(15 * 32_000);
    page.stream(silence(1));
    await page.wait('done');
    const lengths = lengthsOf();
    expect(lengths.at(-1)).toBeGreaterThan(18 * 32_000);
    expect(Math.max(...lengths.slice(0, -1))).toBe(15 * 32_000);
    expect(lengths.length - 1).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 900);
  });

  test('that is a back channel does not interrupt the hub, but other speech does', async () => {
    model.reply = () => 'This is a very long answer.';
    speech.reply = ({ kind }) => (kind === 'speech' ? longSound() : 'Mhm.');
    page.send({ type: 'text', data: 'Tell me.' });
    await page.wait('audio');
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    await expect.poll(() => sentTo('transcription').length).toBe(1);
    page.stream(Buffer.concat([voice(0.7), silence(0.6)]));
    await expect.poll(() => sentTo('transcription').length).toBeGreaterThan(1);
    const before = page.of('audio').length;
    await page.wait('audio', before + 1);
    expect([page.of('done').length, model.requests.length]).toEqual([0, 1]);

    speech.reply = ({ kind }) => (kind === 'speech' ? { sound: [tone(0.1, 24_000)] } : 'Stop, that is wrong.');
    model.reply = () => 'Sorry.';
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    expect(await page.wait('done')).toMatchObject({ interrupted: true, turnId: page.frames[0]?.turnId });
    await page.wait('done', 2);
    expect(model.requests.at(-1)?.messages.at(-1)?.content).toContain('Stop, that is wrong.');

    // Longer speech interrupts before its transcript arrives.
    speech.reply = ({ kind }) => (kind === 'speech' ? longSound() : 'hang');
    page.send({ type: 'text', data: 'Once more.' });
    await page.wait('text', page.of('text').length + 2);
    page.stream(voice(2));
    expect(await page.wait('done', 3)).toMatchObject({ interrupted: true });
    expect(page.frames.at(-1)).toMatchObject({ type: 'text', role: 'user', data: '', final: false });
  });

  test('transcribed after a later question does not end that question and is not answered', async () => {
    const opened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const [word, asked] = opened;
    onTestFinished(() => opened.forEach(({ resolve }) => resolve()));
    model.reply = () => 'This is a very long answer.';
    speech.reply = async (request) => {
      if (request.kind === 'speech') return longSound();
      if (soundNumberOf(request) > 1) return 'What does it cost on Sundays?';
      await word.promise;
      return 'No.';
    };
    page.send({ type: 'text', data: 'Tell me.' });
    await page.wait('audio');
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    await expect.poll(() => sentTo('transcription').length).toBe(1);
    model.reply = async () => {
      await asked.promise;
      return 'Nine.';
    };
    page.stream(Buffer.concat([voice(1.8), silence(0.6)]));
    await expect.poll(questions).toHaveLength(2);
    page.send({ type: 'text', data: 'And on Mondays?' });
    speech.reply = () => ({ sound: [tone(0.1, 24_000)] });
    const before = await countBackChannels();
    word.resolve();
    await expect.poll(countBackChannels).toBe(before + 1);
    asked.resolve();
    await page.wait('done', 3);
    expect(page.of('done').map(({ interrupted }) => interrupted)).toEqual([true, false, false]);
    expect(questions()).toEqual(['Tell me.', 'What does it cost on Sundays?', 'And on Mondays?']);
  });

  test('of several short words is answered for the last word, even if the first is transcribed last', async () => {
    const word = Promise.withResolvers<void>();
    onTestFinished(() => word.resolve());
    model.reply = () => 'This is a very long answer.';
    speech.reply = async (request) => {
      if (request.kind === 'speech') return longSound();
      if (soundNumberOf(request) > 1) return 'Wait.';
      await word.promise;
      return 'No.';
    };
    page.send({ type: 'text', data: 'Tell me.' });
    await page.wait('audio');
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    await expect.poll(() => sentTo('transcription').length).toBe(1);
    model.reply = () => 'hang';
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    await expect.poll(() => model.requests.at(-1)?.messages.at(-1)?.content).toBe('Wait.');
    const before = await countBackChannels();
    word.resolve();
    await expect.poll(countBackChannels).toBe(before + 1);
    expect(page.of('done').map(({ interrupted }) => interrupted)).toEqual([true]);
  });

  test.each(['before', 'after'])(
    'of one short word is answered if only a cough follows, and the transcript of the cough arrives %s that of the word',
    async (known) => {
      const opened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
      const [word, cough] = opened;
      onTestFinished(() => opened.forEach(({ resolve }) => resolve()));
      model.reply = () => 'This is a very long answer.';
      speech.reply = async (request) => {
        if (request.kind === 'speech') return longSound();
        const isWord = soundNumberOf(request) === 1;
        await (isWord ? word : cough).promise;
        return isWord ? 'And Sunday?' : '';
      };
      page.send({ type: 'text', data: 'Tell me.' });
      await page.wait('audio');
      page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
      await expect.poll(() => sentTo('transcription').length).toBe(1);
      page.send({ type: 'interrupt' });
      await page.wait('done');
      model.reply = () => 'Closed.';
      page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
      await expect.poll(() => sentTo('transcription').length).toBe(2);
      const [first, second] = known === 'before' ? [cough, word] : [word, cough];
      first.resolve();
      if (first === cough) await page.wait('done', 2);
      second.resolve();
      await expect.poll(() => model.requests.at(-1)?.messages.at(-1)?.content).toBe('And Sunday?');
    },
  );

  test('of one word is answered after an interruption, although unplayed sound was already sent', async () => {
    model.reply = () => 'Shall I go on?';
    speech.reply = ({ kind }) => (kind === 'speech' ? longSound() : 'Ja.');
    page.send({ type: 'text', data: 'Tell me.' });
    await page.wait('audio');
    page.send({ type: 'interrupt' });
    await page.wait('done');
    speech.reply = ({ kind }) => (kind === 'speech' ? { sound: [tone(0.1, 24_000)] } : 'Ja.');
    page.stream(Buffer.concat([voice(0.3), silence(0.6)]));
    await page.wait('done', 2);
    expect(page.of('text').findLast(({ role, final }) => role === 'user' && final)?.data).toBe('Ja.');
  });

  test('during playback of a completely sent answer stops playback and removes the unheard part from the context', async () => {
    model.reply = () => 'First this. Then nobody hears that.';
    // The hub sends 3 s ahead, which contains both sentences. The second one begins late, also for a busy machine.
    speech.reply = (request) =>
      request.kind === 'speech'
        ? { sound: [tone(request.input.includes('First') ? 2.8 : 0.1, 24_000)] }
        : 'Wait, what about Sunday?';
    page.send({ type: 'text', data: 'Tell me.' });
    const { turnId } = await page.wait('done');
    page.stream(Buffer.concat([voice(0.4), silence(0.6)]));
    await page.wait('done', 2);
    expect(page.of('done').map(({ turnId: id, interrupted }) => [id === turnId, interrupted])).toEqual([
      [true, false],
      [false, false],
    ]);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain('nobody hears that');
  });
});
