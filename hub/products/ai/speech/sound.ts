import type { Speech } from './speech.ts';
import { isWav, readWavHead, SoundTooLong, UnreadableSound } from './wav.ts';
import type { SampleFormat } from './wav.ts';

export { SoundTooLong, toWav, UnreadableSound } from './wav.ts';

/** What begins another format than PCM, so that nobody listens to it as noise. */
const otherFormats: readonly (readonly [RegExp, string])[] = [
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
const headBytes = 12;
/** Loudest sample of what counts as silent: -54 dB. */
const silentAmplitude = 64;
const leastSeconds = 0.1;

/** What is taken of sound; whatever is beyond it is not converted. */
export interface SoundBounds {
  /** Longest sound that comes at once. */
  maxSeconds: number;
  /** Of a WAV, in samples a second; all that is known when left out. */
  rates?: readonly [least: number, most: number];
}

/**
 * Reads PCM (signed 16 bits, little-endian, one channel) or WAV while it comes, and passes all of it on as the former. Channels become their mean. A WAV's declared lengths count
 * for nothing, and half a sample at the end is left out.
 */
export class SoundReader {
  readonly #plainRate: number;
  readonly #bounds: SoundBounds | undefined;
  #held: Buffer = Buffer.alloc(0);
  #format: SampleFormat | null = null;

  /** @param plainRate of what has no head, in samples a second. */
  constructor(plainRate: number, bounds?: SoundBounds) {
    this.#plainRate = plainRate;
    this.#bounds = bounds;
  }

  /** What can be heard of it by now; null for nothing yet. @throws UnreadableSound, of it SoundTooLong. */
  push(chunk: Uint8Array): Speech | null {
    const bytes = this.#held.length === 0 ? bufferOf(chunk) : Buffer.concat([this.#held, chunk]);
    if (this.#format !== null) return this.#take(bytes, this.#format);
    if (bytes.length < headBytes) return this.#hold(bytes);
    if (!isWav(bytes)) return this.#takePlain(bytes);
    const head = readWavHead(bytes);
    if (head === null) return this.#hold(bytes);
    const { sampleRate } = head.format;
    const [least, most] = this.#bounds?.rates ?? [sampleRate, sampleRate];
    if (sampleRate < least || sampleRate > most)
      throw new UnreadableSound(`must be WAV of ${least} to ${most} samples a second (it has ${sampleRate})`);
    this.#format = head.format;
    return this.#take(bytes.subarray(head.dataAt), head.format);
  }

  /** The rest of it. @throws UnreadableSound. */
  end(): Speech | null {
    if (this.#format !== null || this.#held.length === 0) return null;
    if (isWav(this.#held)) throw new UnreadableSound('must have samples, as WAV has');
    return this.#takePlain(this.#held);
  }

  #takePlain(bytes: Buffer): Speech | null {
    const start = bytes.toString('latin1', 0, headBytes);
    const other = otherFormats.find(([pattern]) => pattern.test(start));
    if (other !== undefined) throw new UnreadableSound(`must be PCM or WAV (it is ${other[1]})`);
    this.#format = { encoding: 'integer', channels: 1, bits: 16, sampleRate: this.#plainRate };
    return this.#take(bytes, this.#format);
  }

  #hold(bytes: Buffer): null {
    this.#held = Buffer.from(bytes);
    return null;
  }

  #take(bytes: Buffer, format: SampleFormat): Speech | null {
    const frameBytes = (format.channels * format.bits) / 8;
    const length = bytes.length - (bytes.length % frameBytes);
    const seconds = length / frameBytes / format.sampleRate;
    if (this.#bounds !== undefined && seconds > this.#bounds.maxSeconds)
      throw new SoundTooLong(this.#bounds.maxSeconds, seconds);
    this.#held = Buffer.from(bytes.subarray(length));
    return length === 0 ? null : { pcm: toMono(bytes.subarray(0, length), format), sampleRate: format.sampleRate };
  }
}

/** All of a sound that is there as a whole; no samples where it is empty. @param plainRate of what has no head. @throws UnreadableSound, of it SoundTooLong. */
export function readSound(bytes: Uint8Array, plainRate: number, bounds?: SoundBounds): Speech {
  const reader = new SoundReader(plainRate, bounds);
  return reader.push(bytes) ?? reader.end() ?? { pcm: new Uint8Array(), sampleRate: plainRate };
}

/** Whether there is nothing to write down: it is silent, or too short to be a word. */
export function isSilent({ pcm, sampleRate }: Speech): boolean {
  if (pcm.length < 2 * sampleRate * leastSeconds) return true;
  // An array of samples begins at an even place.
  const even = pcm.byteOffset % 2 === 0 ? pcm : pcm.slice();
  const samples = new Int16Array(even.buffer, even.byteOffset, Math.floor(even.length / 2));
  return samples.every((sample) => sample <= silentAmplitude && sample >= -silentAmplitude);
}

export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads one sample as a number of 16 bits. */
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

/** A number as a sample: rounded, and cut at what 16 bits hold; silence for what is none. */
export const toSample = (value: number): number =>
  Number.isNaN(value) ? 0 : Math.max(-32_768, Math.min(32_767, Math.round(value)));
