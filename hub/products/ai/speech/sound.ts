import type { Speech } from './speech.ts';
import { isWav, readWavHeader, SoundTooLong, UnreadableSound } from './wav.ts';
import type { SampleFormat } from './wav.ts';

export { SoundTooLong, toWav, UnreadableSound } from './wav.ts';

/** Signatures of unsupported formats, which would be noise if they were read as PCM. */
const unsupportedFormats: readonly (readonly [RegExp, string])[] = [
  [/^.E\xDF\xA3/s, 'WebM'],
  [/^OggS/, 'Ogg'],
  [/^fLaC/, 'FLAC'],
  [/^ID3/, 'MP3'],
  [/^....ftyp/s, 'MP4'],
  [/^#!AMR/, 'AMR'],
  [/^RIFX/, 'RIFX'],
  [/^caff/, 'CAF'],
  [/^\s*<(?:!doctype|html|\?xml)/i, 'HTML'],
];
const signatureBytes = 12;
/** Maximum sample of a silent sound: -54 dB. */
const silentAmplitude = 64;
const minSeconds = 0.1;

/** Limits of a sound. They are checked before the conversion. */
export interface SoundBounds {
  /** Maximum duration of one chunk, or of a complete sound. */
  maxSeconds: number;
  /** Allowed sample rates of a WAV. By default all supported rates. */
  sampleRates?: readonly [least: number, most: number];
}

/**
 * Reads a stream of PCM (signed 16 bits, little-endian, one channel) or WAV and returns it as PCM. Channels are
 * averaged. The lengths that a WAV declares are ignored, and an incomplete sample at the end is dropped.
 */
export class SoundReader {
  readonly #rawSampleRate: number;
  readonly #bounds: SoundBounds | undefined;
  #buffered: Buffer = Buffer.alloc(0);
  #format: SampleFormat | null = null;

  /** @param rawSampleRate Samples per second of PCM without a header. */
  constructor(rawSampleRate: number, bounds?: SoundBounds) {
    this.#rawSampleRate = rawSampleRate;
    this.#bounds = bounds;
  }

  /** Returns the sound decoded so far, or null. @throws UnreadableSound, or its subclass SoundTooLong. */
  push(chunk: Uint8Array): Speech | null {
    const bytes = this.#buffered.length === 0 ? asBuffer(chunk) : Buffer.concat([this.#buffered, chunk]);
    if (this.#format !== null) return this.#decode(bytes, this.#format);
    if (bytes.length < signatureBytes) return this.#buffer(bytes);
    if (!isWav(bytes)) return this.#startPcm(bytes);
    const header = readWavHeader(bytes);
    if (header === null) return this.#buffer(bytes);
    const { sampleRate } = header.format;
    const [least, most] = this.#bounds?.sampleRates ?? [sampleRate, sampleRate];
    if (sampleRate < least || sampleRate > most)
      throw new UnreadableSound(`must be WAV of ${least} to ${most} samples per second (it has ${sampleRate})`);
    this.#format = header.format;
    return this.#decode(bytes.subarray(header.dataAt), header.format);
  }

  /** Returns the rest of the sound, or null. @throws UnreadableSound. */
  end(): Speech | null {
    if (this.#format !== null || this.#buffered.length === 0) return null;
    if (isWav(this.#buffered)) throw new UnreadableSound('must be a WAV with samples');
    return this.#startPcm(this.#buffered);
  }

  #startPcm(bytes: Buffer): Speech | null {
    const start = bytes.toString('latin1', 0, signatureBytes);
    const unsupported = unsupportedFormats.find(([pattern]) => pattern.test(start));
    if (unsupported !== undefined) throw new UnreadableSound(`must be PCM or WAV (it is ${unsupported[1]})`);
    this.#format = { encoding: 'integer', channels: 1, bits: 16, sampleRate: this.#rawSampleRate };
    return this.#decode(bytes, this.#format);
  }

  #buffer(bytes: Buffer): null {
    this.#buffered = Buffer.from(bytes);
    return null;
  }

  #decode(bytes: Buffer, format: SampleFormat): Speech | null {
    const frameBytes = (format.channels * format.bits) / 8;
    const length = bytes.length - (bytes.length % frameBytes);
    const seconds = length / frameBytes / format.sampleRate;
    if (this.#bounds !== undefined && seconds > this.#bounds.maxSeconds)
      throw new SoundTooLong(this.#bounds.maxSeconds, seconds);
    this.#buffered = Buffer.from(bytes.subarray(length));
    return length === 0 ? null : { pcm: toMono(bytes.subarray(0, length), format), sampleRate: format.sampleRate };
  }
}

/**
 * Reads a complete sound. An empty input returns no samples.
 * @param rawSampleRate Samples per second of PCM without a header.
 * @throws UnreadableSound, or its subclass SoundTooLong.
 */
export function readSound(bytes: Uint8Array, rawSampleRate: number, bounds?: SoundBounds): Speech {
  const reader = new SoundReader(rawSampleRate, bounds);
  return reader.push(bytes) ?? reader.end() ?? { pcm: new Uint8Array(), sampleRate: rawSampleRate };
}

/** Whether a sound is silent, or too short to contain a word. */
export function isSilent({ pcm, sampleRate }: Speech): boolean {
  if (pcm.length < 2 * sampleRate * minSeconds) return true;
  // Int16Array requires an even offset.
  const even = pcm.byteOffset % 2 === 0 ? pcm : pcm.slice();
  const samples = new Int16Array(even.buffer, even.byteOffset, Math.floor(even.length / 2));
  return samples.every((sample) => sample <= silentAmplitude && sample >= -silentAmplitude);
}

export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns a function that reads one sample, scaled to 16 bits. */
function sampleReader({ encoding, bits }: SampleFormat): (bytes: Buffer, at: number) => number {
  if (encoding === 'float')
    return bits === 64 ? (bytes, at) => bytes.readDoubleLE(at) * 32_768 : (bytes, at) => bytes.readFloatLE(at) * 32_768;
  if (bits === 8) return (bytes, at) => ((bytes[at] ?? 128) - 128) * 256;
  if (bits === 16) return (bytes, at) => bytes.readInt16LE(at);
  return (bytes, at) => bytes.readIntLE(at, bits / 8) / 2 ** (bits - 16);
}

function toMono(bytes: Buffer, format: SampleFormat): Uint8Array {
  const { encoding, channels, bits } = format;
  if (encoding === 'integer' && bits === 16 && channels === 1) return bytes;
  const read = sampleReader(format);
  const step = bits / 8;
  const pcm = Buffer.alloc((bytes.length / (channels * step)) * 2);
  for (let from = 0, to = 0; to < pcm.length; to += 2) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1, from += step) sum += read(bytes, from);
    pcm.writeInt16LE(toSample(sum / channels), to);
  }
  return pcm;
}

/** Rounds a number and limits it to 16 bits. NaN becomes 0. */
export const toSample = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.max(-32_768, Math.min(32_767, Math.round(value)));
