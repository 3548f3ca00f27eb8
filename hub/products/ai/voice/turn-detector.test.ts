import { spawnSync } from 'node:child_process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { clicks, hum, noise, silence, voice } from '../../../../test/fixtures/sounds.ts';
import { isBackChannel } from './back-channels.ts';
import { containsVoice, readWholeSound } from './sound.ts';
import { TurnDetector } from './turn-detector.ts';
import { analysisSampleRate, openFvad, VoiceActivity } from './voice-activity.ts';

const fvad = await openFvad();
const settings = { silenceMs: 600, minSpeechMs: 150, maxUtteranceMs: 60_000 };

/** Returns the events of a detector that receives the sound in pieces. */
function detect(pcm: Buffer, pieceBytes = 640, detectorSettings = settings) {
  using activity = new VoiceActivity(fvad);
  const detector = new TurnDetector(activity, detectorSettings);
  const events: { kind: string; seconds: number; at: number }[] = [];
  for (let at = 0; at < pcm.length; at += pieceBytes)
    for (const event of detector.push(pcm.subarray(at, at + pieceBytes)))
      events.push({
        kind: event.kind,
        seconds: event.kind === 'ended' ? event.pcm.length / 2 / analysisSampleRate : 0,
        at: (at + pieceBytes) / 2 / analysisSampleRate,
      });
  return events;
}

const kindsOf = (events: { kind: string }[]) => events.map(({ kind }) => kind);

describe('an utterance', () => {
  test.each([320, 640, 641, 7_777, 1_000_000])('is detected completely in pieces of %i bytes', (pieceBytes) => {
    const events = detect(Buffer.concat([silence(1), voice(1.5), silence(1.2), voice(0.5), silence(1)]), pieceBytes);
    expect(kindsOf(events)).toEqual(['began', 'ended', 'began', 'ended']);
    expect(events[1]?.seconds).toBeGreaterThan(1.5);
    expect(events[1]?.seconds).toBeLessThan(2.4);
    expect(events[3]?.seconds).toBeGreaterThan(0.5);
  });

  test('continues over a pause shorter than `silenceMs` and ends after a longer one', () => {
    const twice = Buffer.concat([voice(0.8), silence(0.4), voice(0.8), silence(1)]);
    expect(kindsOf(detect(twice))).toEqual(['began', 'ended']);
    expect(kindsOf(detect(twice, 640, { ...settings, silenceMs: 200 }))).toEqual(['began', 'ended', 'began', 'ended']);
  });

  test('contains at least `minSpeechMs` of voice', () => {
    const short = Buffer.concat([silence(0.5), voice(0.15), silence(1)]);
    expect(kindsOf(detect(short, 640, { ...settings, minSpeechMs: 60 }))).toEqual(['began', 'ended']);
    expect(kindsOf(detect(short, 640, { ...settings, minSpeechMs: 600 }))).toEqual([]);
  });

  test('ends at `maxUtteranceMs` without a pause', () => {
    expect(kindsOf(detect(voice(5), 640, { ...settings, maxUtteranceMs: 2_000 })).slice(0, 3)).toEqual([
      'began',
      'ended',
      'began',
    ]);
  });

  test('is detected, and ends, in noise that is only slightly quieter', () => {
    const quiet = noise(6, analysisSampleRate, 700);
    const speech = Buffer.concat([silence(2), voice(1.5), silence(2.5)]);
    const mixed = Buffer.alloc(speech.length);
    for (let at = 0; at < speech.length; at += 2)
      mixed.writeInt16LE(Math.max(-32_768, Math.min(32_767, speech.readInt16LE(at) + quiet.readInt16LE(at))), at);
    expect(kindsOf(detect(mixed))).toEqual(['began', 'ended']);
  });
});

test.each([
  ['silence', silence(3)],
  ['loud noise', noise(5)],
  ['quiet noise', noise(5, analysisSampleRate, 300)],
  ['noise that comes and goes', Buffer.concat([silence(1), noise(0.4), silence(1), noise(0.7), silence(1)])],
  ['hum', hum(3)],
  ['clicks', clicks(5)],
])('%s is not an utterance, neither in a stream nor as a complete sound', async (_name, pcm) => {
  expect(detect(pcm)).toEqual([]);
  expect(await containsVoice(fvad, { pcm, sampleRate: analysisSampleRate })).toBe(false);
});

test.each([8_000, 11_025, 16_000, 22_050, 44_100, 48_000])('a voice is detected at %i Hz', async (sampleRate) => {
  const pcm = Buffer.concat([silence(0.4, sampleRate), voice(0.6, sampleRate)]);
  expect(await containsVoice(fvad, { pcm, sampleRate })).toBe(true);
});

const espeak = spawnSync('espeak-ng', ['--version']).error === undefined;
test.skipIf(!espeak).each(['mhm', 'ja', 'Stop!', 'What time do you open on Saturday?'])(
  'speech of espeak-ng is detected as a voice: %s (needs espeak-ng)',
  (words) => {
    const wav = spawnSync('espeak-ng', ['--stdout', '-v', 'en', words]).stdout;
    const speech = readWholeSound(wav, analysisSampleRate);
    expect(speech.sampleRate).toBe(22_050);
    return expect(containsVoice(fvad, speech)).resolves.toBe(true);
  },
);

test.each([
  'mhm',
  'Mm-hmm.',
  'Okay.',
  'ja, ja',
  'Ja genau!',
  'I see.',
  'yeah, right',
  "d'accord",
  'Sí, claro.',
  'да',
  'うんうん',
  'はい、そうですね。',
  '嗯嗯,好的。',
  '네, 네.',
  'هاه؟'.slice(0, 0),
])('"%s" is a back channel', (text) => expect(isBackChannel(text)).toBe(true));

test.each([
  'no',
  'nein',
  'stop',
  'Okay, but when?',
  'ja und am Sonntag?',
  'no, gracias',
  'いいえ',
  '不是',
  'okay okay okay okay stop',
  'right now',
])('"%s" is not a back channel', (text) => expect(isBackChannel(text)).toBe(false));

test('a detector that failed to load is loaded again for the next caller', async () => {
  let loads = 0;
  const load = async () => {
    loads += 1;
    if (loads === 1) throw new Error('out of memory');
    return fvad;
  };
  vi.resetModules();
  vi.doMock('@echogarden/fvad-wasm', () => ({ default: load }));
  onTestFinished(() => vi.doUnmock('@echogarden/fvad-wasm'));
  const fresh = await import('./voice-activity.ts');
  await expect(fresh.openFvad()).rejects.toThrow('out of memory');
  expect(await fresh.openFvad()).toBe(fvad);
});
