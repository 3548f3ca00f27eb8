import { CommandError } from './commands/handler.ts';

/** Level below which no microphone is assumed, in decibels of full scale. Also a quiet room is louder. */
const silenceDecibels = -80;

/** The measured properties of a clip. */
export interface Sound {
  durationMs: number;
  /** Root mean square, in decibels of full scale; -Infinity for digital silence. */
  decibels: number;
  isSilent: boolean;
}

/** Measures a WAV of 16-bit samples. @throws CommandError `failed` when it is none, or has no sample. */
export function measureSound(wav: Buffer): Sound {
  const format = chunkOf(wav, 'fmt ');
  const data = chunkOf(wav, 'data');
  if (format === null || data === null || format.length < 16 || format.readUInt16LE(14) !== 16)
    throw new CommandError('failed', 'What was recorded is not sound of 16-bit samples.');
  const count = data.length >> 1;
  if (count === 0) throw new CommandError('failed', 'Nothing was recorded: the microphone sent no sample.');
  const first = data.readInt16LE(0);
  let [sum, squares, areEqual] = [0, 0, true];
  for (let at = 0; at < count * 2; at += 2) {
    const sample = data.readInt16LE(at);
    sum += sample;
    squares += sample * sample;
    areEqual &&= sample === first;
  }
  // A constant level is silence, also when it is far from zero.
  const power = squares / count - (sum / count) ** 2;
  const decibels = power <= 0 ? -Infinity : 10 * Math.log10(power / 32_768 ** 2);
  const bytesPerSecond = format.readUInt32LE(8);
  return {
    durationMs: bytesPerSecond === 0 ? 0 : Math.round((data.length / bytesPerSecond) * 1000),
    decibels,
    isSilent: areEqual || decibels < silenceDecibels,
  };
}

/** A chunk of a RIFF file by its name. A chunk that claims more bytes than the file has ends with the file. */
function chunkOf(wav: Buffer, name: string): Buffer | null {
  if (wav.length < 12 || wav.toString('latin1', 0, 4) !== 'RIFF') return null;
  for (let at = 12; at + 8 <= wav.length;) {
    const length = wav.readUInt32LE(at + 4);
    if (wav.toString('latin1', at, at + 4) === name) return wav.subarray(at + 8, at + 8 + length);
    at += 8 + length + (length % 2);
  }
  return null;
}
