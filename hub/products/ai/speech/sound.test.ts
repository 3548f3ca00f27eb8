import { expect, test } from 'vitest';
import { tone } from '../../../../test/fixtures/speech-server.ts';
import { resample, Resampler } from './resample.ts';
import { isSilent, readSound, SoundReader, toWav, UnreadableSound } from './sound.ts';

const pcmOf = (...samples: number[]) => Buffer.from(Int16Array.from(samples).buffer);
const samplesOf = (pcm: Uint8Array) => {
  const bytes = Buffer.from(pcm);
  return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readInt16LE(index * 2));
};

interface Wav {
  format?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  data?: Buffer;
  declared?: number;
  before?: Buffer;
}

/** Builds a WAV with the given format and contents. */
function wavOf({
  format = 1,
  channels = 1,
  rate = 8_000,
  bits = 16,
  data = pcmOf(1, -2),
  declared,
  before,
}: Wav): Buffer {
  const head = Buffer.alloc(24);
  head.write('fmt ', 0);
  head.writeUInt32LE(16, 4);
  head.writeUInt16LE(format, 8);
  head.writeUInt16LE(channels, 10);
  head.writeUInt32LE(rate, 12);
  head.writeUInt16LE(bits, 22);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(declared ?? data.length);
  return Buffer.concat([
    Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'),
    before ?? Buffer.alloc(0),
    head,
    Buffer.from('data'),
    length,
    data,
  ]);
}

test('PCM is returned unchanged, except for an incomplete sample at its end', () => {
  expect(readSound(pcmOf(1, -2, 3), 11_025)).toEqual({ pcm: pcmOf(1, -2, 3), sampleRate: 11_025 });
  expect(samplesOf(readSound(Buffer.concat([pcmOf(1, -2), Buffer.from([7])]), 8_000).pcm)).toEqual([1, -2]);
  expect(readSound(new Uint8Array(), 8_000).pcm).toHaveLength(0);
  expect(readSound(Buffer.from([7]), 8_000).pcm).toHaveLength(0);
  // PCM at an odd memory offset.
  expect(samplesOf(readSound(Buffer.concat([Buffer.from([0]), pcmOf(5, 6)]).subarray(1), 8_000).pcm)).toEqual([5, 6]);
});

test.each([
  ['declared lengths of 0', wavOf({ declared: 0 }), [1, -2]],
  ['the largest declared lengths', wavOf({ declared: 0xffff_ffff }), [1, -2]],
  ['declared lengths that are too short', wavOf({ declared: 2 }), [1, -2]],
  ['a preceding chunk of odd length', wavOf({ before: Buffer.from('LIST\x03\0\0\0abc\0', 'latin1') }), [1, -2]],
  ['two channels', wavOf({ channels: 2, data: pcmOf(10, 20, -10, -30) }), [15, -20]],
  ['8 bits', wavOf({ bits: 8, data: Buffer.from([128, 129, 0]) }), [0, 256, -32_768]],
  ['24 bits', wavOf({ bits: 24, data: Buffer.from([0, 1, 0, 0, 0xff, 0xff]) }), [1, -1]],
  ['32 bits', wavOf({ bits: 32, data: Buffer.from(Int32Array.from([65_536, -65_536]).buffer) }), [1, -1]],
  [
    'floating-point samples',
    wavOf({ format: 3, bits: 32, data: Buffer.from(Float32Array.from([0.5, -2, Number.NaN]).buffer) }),
    [16_384, -32_768, 0],
  ],
])('a WAV with %s is decoded from its actual samples, complete or byte by byte', (_name, wav, samples) => {
  const whole = readSound(wav, 48_000);
  expect(whole.sampleRate).toBe(8_000);
  expect(samplesOf(whole.pcm)).toEqual(samples);
  const reader = new SoundReader(48_000);
  const parts = [...wav].flatMap((byte) => reader.push(Buffer.from([byte])) ?? []);
  expect(
    samplesOf(Buffer.concat([...parts, reader.end() ?? []].flatMap((part) => ('pcm' in part ? [part.pcm] : [])))),
  ).toEqual(samples);
});

test('an unreadable sound is rejected with a message that says why', () => {
  for (const [bytes, message] of [
    [Buffer.from('OggS00000000'), 'must be PCM or WAV (it is Ogg)'],
    [Buffer.from('\x1A\x45\xDF\xA300000000', 'latin1'), 'must be PCM or WAV (it is WebM)'],
    [Buffer.from('0000ftypisom'), 'must be PCM or WAV (it is MP4)'],
    [Buffer.from('RIFF0000AVI 00000000'), 'must be WAV if it begins with RIFF'],
    [wavOf({ format: 7, bits: 8 }), 'must be WAV with PCM of 8, 16, 24 or 32 bits (it has format 7 of 8 bits)'],
    [wavOf({ channels: 0 }), 'must be WAV of 1 to 8 channels (it has 0)'],
    [wavOf({ channels: 9 }), 'must be WAV of 1 to 8 channels (it has 9)'],
    [wavOf({ rate: 0 }), 'must be WAV of 4000 to 192000 samples per second (it has 0)'],
    [wavOf({}).subarray(0, 30), 'must be a WAV with samples'],
    [wavOf({ before: Buffer.from('LIST\xff\xff\xff\xff', 'latin1') }), 'must be a WAV with samples'],
    [Buffer.from('RIFF0000WAVEdata0000'), 'must be a WAV with its format before its samples'],
  ] as const)
    expect(() => readSound(bytes, 8_000)).toThrow(new UnreadableSound(message));
});

test('readSound reads what toWav writes', () => {
  expect(readSound(toWav({ pcm: pcmOf(1, 2, 3), sampleRate: 22_050 }), 1)).toEqual({
    pcm: pcmOf(1, 2, 3),
    sampleRate: 22_050,
  });
});

test('isSilent is true for silence and a click, and false for a quiet voice', () => {
  const is = (pcm: Uint8Array) => isSilent({ pcm, sampleRate: 16_000 });
  expect(is(new Uint8Array())).toBe(true);
  expect(is(Buffer.alloc(32_000))).toBe(true);
  expect(is(tone(1, 16_000, 60))).toBe(true);
  expect(is(tone(0.09, 16_000))).toBe(true);
  expect(is(tone(0.11, 16_000))).toBe(false);
  expect(is(tone(1, 16_000, 100))).toBe(false);
});

test.each([
  [24_000, 8_000],
  [22_050, 16_000],
  [8_000, 48_000],
  [44_100, 12_345],
])('a tone at %i Hz is the same tone after resampling to %i Hz, complete or in parts', (from, to) => {
  const pcm = tone(0.5, from);
  const whole = samplesOf(resample(pcm, from, to));
  const expected = samplesOf(tone(0.5, to));
  expect(whole).toHaveLength(expected.length);
  const middle = whole.slice(100, -100).map((sample, index) => Math.abs(sample - (expected[index + 100] ?? 0)));
  expect(Math.max(...middle)).toBeLessThan(20);
  const resampler = new Resampler(from, to);
  const parts = [];
  for (let at = 0; at < pcm.length; at += 334) parts.push(resampler.push(pcm.subarray(at, at + 334)));
  expect(samplesOf(Buffer.concat([...parts, resampler.end()]))).toEqual(whole);
});

test('resampling removes a tone above half the lower rate instead of aliasing it', () => {
  const high = Buffer.alloc(48_000);
  for (let at = 0; at < high.length; at += 2)
    high.writeInt16LE(Math.round(8_000 * Math.sin((Math.PI * 6_000 * at) / 48_000)), at);
  expect(
    Math.max(
      ...samplesOf(resample(high, 48_000, 8_000))
        .slice(100, -100)
        .map(Math.abs),
    ),
  ).toBeLessThan(10);
});
