import type { Fvad } from '@echogarden/fvad-wasm';
import { minSampleRate, maxSampleRate } from '../../../../shared/contract/ai/voice-request.ts';
import { maxAudioFrameSeconds, maxUtteranceSeconds } from '../../../../shared/contract/ai/voice.ts';
import { AppError } from '../../../../shared/errors.ts';
import { Resampler, SoundReader, SoundTooLong, UnreadableSound, isSilent, readSound } from '../speech/index.ts';
import type { Speech } from '../speech/index.ts';
import { hasVoice } from './turn-detector.ts';
import { analysisSampleRate, VoiceActivity } from './voice-activity.ts';

/**
 * Allowed sample rates of a WAV, as for PCM. Lower rates make long sound of few bytes, higher rates resample slowly.
 */
const sampleRates = [minSampleRate, maxSampleRate] as const;
/** Minimum duration of voice in an utterance, about one short word. */
const minVoiceMs = 60;

const invalid = (message: string) =>
  new AppError('validation_failed', `frame.data ${message}.`, { details: [{ path: 'frame.data', message }] });

/** @throws AppError `validation_failed` if `data` is not base64. */
export function decodeBase64(data: string): Buffer {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(data) || data.length % 4 === 1)
    throw invalid('must be base64 of PCM (signed, 16 bits, little-endian, mono) or of a WAV file');
  return Buffer.from(data, 'base64');
}

/** Reads a complete sound. @throws AppError `validation_failed`, `payload_too_large`. */
export function readWholeSound(bytes: Buffer, rawSampleRate: number): Speech {
  return readable(() => readSound(bytes, rawSampleRate, { maxSeconds: maxUtteranceSeconds, sampleRates }));
}

/** Reads sound that arrives in pieces: continuous PCM, one WAV across pieces, or one WAV per piece. */
export class SoundStream {
  #reader: SoundReader | null = null;
  #rawSampleRate = 0;

  /** Returns the sound decoded so far, or null. @throws AppError `validation_failed`, `payload_too_large`. */
  push(bytes: Buffer, rawSampleRate: number): Speech | null {
    const isNew = this.#reader === null || this.#rawSampleRate !== rawSampleRate || startsWithWav(bytes);
    const reader = isNew
      ? new SoundReader(rawSampleRate, { maxSeconds: maxAudioFrameSeconds, sampleRates })
      : (this.#reader as SoundReader);
    this.#reader = null;
    const speech = readable(() => reader.push(bytes));
    this.#reader = reader;
    this.#rawSampleRate = rawSampleRate;
    return speech;
  }
}

/** Whether an utterance contains a voice. */
export async function containsVoice(fvad: Fvad, speech: Speech): Promise<boolean> {
  if (isSilent(speech)) return false;
  using activity = new VoiceActivity(fvad);
  return await hasVoice(activity, analysisPieces(speech), minVoiceMs);
}

/** Resamples a sound to the rate of the analysis, in pieces of one second. */
function* analysisPieces({ pcm, sampleRate }: Speech): Generator<Uint8Array> {
  const resampler = new Resampler(sampleRate, analysisSampleRate);
  for (let at = 0; at < pcm.length; at += sampleRate * 2) yield resampler.push(pcm.subarray(at, at + sampleRate * 2));
  yield resampler.end();
}

const startsWithWav = (bytes: Buffer) => /^(RIFF|RF64)....WAVE/s.test(bytes.toString('latin1', 0, 12));

function readable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof SoundTooLong)
      throw new AppError('payload_too_large', `frame.data ${error.message}; send it in parts.`);
    if (error instanceof UnreadableSound) throw invalid(error.message);
    throw error;
  }
}

export const durationSeconds = ({ pcm, sampleRate }: Speech): number => pcm.length / 2 / sampleRate;
