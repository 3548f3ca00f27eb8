/** Encoding of samples. */
export interface SampleFormat {
  encoding: 'integer' | 'float';
  channels: number;
  bits: number;
  sampleRate: number;
}

/** Sound that cannot be read. The message continues the name of a field: `must be …`. */
export class UnreadableSound extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnreadableSound';
  }
}

/** Sound that exceeds the maximum duration. */
export class SoundTooLong extends UnreadableSound {
  constructor(maxSeconds: number, seconds: number) {
    super(`must last at most ${maxSeconds} s (it lasts ${Math.ceil(seconds)} s)`);
    this.name = 'SoundTooLong';
  }
}

/** Maximum offset of the samples. */
const maxHeaderBytes = 64 * 1024;
const minSampleRate = 4_000;
const maxSampleRate = 192_000;
const maxChannels = 8;

const encodings: Readonly<Record<number, SampleFormat['encoding'] | undefined>> = { 1: 'integer', 3: 'float' };
const extensible = 0xfffe;
const knownBits: Readonly<Record<SampleFormat['encoding'], readonly number[]>> = {
  integer: [8, 16, 24, 32],
  float: [32, 64],
};

export const isWav = (bytes: Buffer): boolean => /^(RIFF|RF64)$/.test(bytes.toString('latin1', 0, 4));

/**
 * Reads the format of a WAV and the offset of its samples. Returns null if more bytes are needed. The declared lengths
 * of the file and of the samples are ignored, because a program that streams a WAV does not know them.
 * @throws UnreadableSound.
 */
export function readWavHeader(bytes: Buffer): { format: SampleFormat; dataAt: number } | null {
  if (bytes.length < 12) return null;
  if (bytes.toString('latin1', 8, 12) !== 'WAVE') throw new UnreadableSound('must be WAV if it begins with RIFF');
  let format: SampleFormat | null = null;
  for (let at = 12; at <= maxHeaderBytes;) {
    if (at + 8 > bytes.length) return null;
    const name = bytes.toString('latin1', at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    if (name === 'data') {
      if (format === null) throw new UnreadableSound('must be a WAV with its format before its samples');
      return { format, dataAt: at + 8 };
    }
    if (name === 'fmt ') {
      if (length < 16) throw new UnreadableSound('must be a WAV with a complete format');
      if (bytes.length < at + 8 + Math.min(length, 40)) return null;
      format = readFormat(bytes.subarray(at + 8, at + 8 + length));
    }
    // Chunks begin at even offsets.
    at += 8 + length + (length % 2);
  }
  throw new UnreadableSound('must be a WAV with samples');
}

function readFormat(bytes: Buffer): SampleFormat {
  const tag = bytes.readUInt16LE(0);
  const code = tag === extensible && bytes.length >= 26 ? bytes.readUInt16LE(24) : tag;
  const encoding = encodings[code];
  const [channels, sampleRate, bits] = [bytes.readUInt16LE(2), bytes.readUInt32LE(4), bytes.readUInt16LE(14)];
  if (encoding === undefined || !knownBits[encoding].includes(bits))
    throw new UnreadableSound(`must be WAV with PCM of 8, 16, 24 or 32 bits (it has format ${code} of ${bits} bits)`);
  if (channels < 1 || channels > maxChannels)
    throw new UnreadableSound(`must be WAV of 1 to ${maxChannels} channels (it has ${channels})`);
  if (sampleRate < minSampleRate || sampleRate > maxSampleRate)
    throw new UnreadableSound(
      `must be WAV of ${minSampleRate} to ${maxSampleRate} samples per second (it has ${sampleRate})`,
    );
  return { encoding, channels, bits, sampleRate };
}

/** Adds a WAV header with the true length to PCM of one channel. */
export function toWav({ pcm, sampleRate }: { pcm: Uint8Array; sampleRate: number }): Uint8Array<ArrayBuffer> {
  const wav = Buffer.alloc(44 + pcm.length);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(36 + pcm.length, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(sampleRate, 24);
  wav.writeUInt32LE(sampleRate * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(pcm.length, 40);
  wav.set(pcm, 44);
  return wav;
}
