import { expect, test } from 'vitest';
import { measureSound } from './sound.ts';

const rate = 16_000;

/** One second of 16-bit samples after the header that ffmpeg writes, with an extra chunk between. */
function wav(sampleAt: (index: number) => number, claimed = rate * 2): Buffer {
  const list = Buffer.from('LIST\x06\0\0\0INFOab', 'latin1');
  const header = Buffer.alloc(36);
  header.write('RIFF', 0);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  const data = Buffer.alloc(8 + rate * 2);
  data.write('data', 0);
  data.writeUInt32LE(claimed, 4);
  for (let index = 0; index < rate; index += 1) data.writeInt16LE(Math.round(sampleAt(index)), 8 + index * 2);
  return Buffer.concat([header, list, data]);
}

const tone = (amplitude: number) => (index: number) => amplitude * Math.sin((index * 2 * Math.PI * 440) / rate);

test('measuring a tone returns its level, also when the file claims to be longer than it is', () => {
  for (const claimed of [rate * 2, 0xffff_ffff]) {
    const sound = measureSound(wav(tone(32_767), claimed));
    expect(sound).toMatchObject({ durationMs: 1000, isSilent: false });
    expect(sound.decibels).toBeCloseTo(-3, 1);
  }
  expect(measureSound(wav(tone(30))).isSilent).toBe(false);
});

test.each([
  ['zeros', () => 0],
  ['a constant', () => -12_000],
  ['rare changes of the last bit', (index: number) => (index % 100 === 0 ? 1 : 0)],
])('measuring %s reports silence', (_kind, sampleAt) => {
  expect(measureSound(wav(sampleAt))).toMatchObject({ durationMs: 1000, isSilent: true });
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['a text', Buffer.from('no sound at all, but long enough to be one of them')],
  ['a clip without a sample', wav(() => 0).subarray(0, 36 + 14 + 8)],
])('measuring %s fails', (_kind, bytes) => {
  expect(() => measureSound(bytes)).toThrow(/recorded/);
});
