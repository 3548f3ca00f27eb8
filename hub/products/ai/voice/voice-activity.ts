import loadFvad from '@echogarden/fvad-wasm';
import type { Fvad } from '@echogarden/fvad-wasm';

/** Samples a second of all that is listened to. */
export const analysisSampleRate = 16_000;
export const frameMs = 20;
export const frameSamples = (analysisSampleRate * frameMs) / 1_000;

/** Of the detector: takes steady noise that is not loud for none. */
const detectorMode = 2;
/** The first frames of any noise are taken for a voice, until it is known what noise there is. */
const warmUpFrames = 5;
/** How long a voice goes on after a sound with a pitch: consonants between vowels have none. */
const pitchHoldFrames = 10;
/** How much a vowel repeats itself at least; noise stays below a fifth. */
const minPeriodicity = 0.5;
/** Quietest frame in which a pitch is looked for: a root mean square of -54 dB. */
const minLevel = 64;

let loading: Promise<Fvad> | undefined;

/** The detector, which all listeners of a process share. */
export function openFvad(): Promise<Fvad> {
  loading ??= loadFvad().catch((error: unknown) => {
    // Whoever comes next tries anew.
    loading = undefined;
    throw error;
  });
  return loading;
}

/**
 * Tells a voice from silence and noise, frame by frame. WebRTC's detector says where there may be one; since it takes loud noise for a voice, too, a sound with a pitch must be near.
 * Each listener has a state of its own, which is freed when it is disposed.
 */
export class VoiceActivity implements Disposable {
  readonly #fvad: Fvad;
  readonly #handle: number;
  readonly #pointer: number;
  /** The last two frames at half their rate, without what lies below a voice. */
  readonly #window = new Float64Array(frameSamples);
  #frames = 0;
  #framesSincePitch = Number.POSITIVE_INFINITY;
  #isDisposed = false;

  constructor(fvad: Fvad) {
    this.#fvad = fvad;
    this.#handle = fvad._fvad_new();
    this.#pointer = fvad._malloc(frameSamples * 2);
    fvad._fvad_set_mode(this.#handle, detectorMode);
    fvad._fvad_set_sample_rate(this.#handle, analysisSampleRate);
  }

  /** Whether there is a voice in a frame, which must follow the one before. @param frame of `frameSamples`. */
  isVoice(frame: Int16Array): boolean {
    if (this.#isDisposed) return false;
    this.#frames += 1;
    this.#fvad.HEAP16.set(frame, this.#pointer / 2);
    const mayBeVoice = this.#fvad._fvad_process(this.#handle, this.#pointer, frameSamples) === 1;
    const level = this.#appendToWindow(frame);
    this.#framesSincePitch += 1;
    if (!mayBeVoice || this.#frames <= warmUpFrames) return false;
    // While one was found a moment ago, it is not looked for anew.
    const isDue = this.#framesSincePitch > pitchHoldFrames / 2;
    if (isDue && level >= minLevel && periodicityOf(this.#window) >= minPeriodicity) this.#framesSincePitch = 0;
    return this.#framesSincePitch <= pitchHoldFrames;
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#fvad._fvad_free(this.#handle);
    this.#fvad._free(this.#pointer);
  }

  /** Takes a frame into the window; answers its level. */
  #appendToWindow(frame: Int16Array): number {
    const half = frameSamples / 2;
    this.#window.copyWithin(0, half);
    let energy = 0;
    for (let at = 0; at < half; at += 1) {
      const sample = ((frame[2 * at] ?? 0) + (frame[2 * at + 1] ?? 0)) / 2;
      this.#window[half + at] = sample;
      energy += sample * sample;
    }
    return Math.sqrt(energy / half);
  }
}

/** Lags at which a voice repeats itself, in samples at 8 kHz: 60 to 400 Hz, and those above at a multiple. */
const minLag = 20;
const maxLag = 133;
const emphasis = 0.9;

/** How much a window repeats itself at the pitch of a voice, from 0 to 1; 0 for what only is slow, such as the hum of mains. */
function periodicityOf(window: Float64Array): number {
  const { length } = window;
  // Noise with more bass than treble repeats itself by being slow.
  const sharp = new Float64Array(length);
  /** The energy of all before each sample. */
  const energy = new Float64Array(length + 1);
  for (let at = 1; at < length; at += 1) {
    const sample = (window[at] as number) - emphasis * (window[at - 1] as number);
    sharp[at] = sample;
    energy[at + 1] = (energy[at] as number) + sample * sample;
  }
  const whole = energy[length] as number;
  let best = 0;
  let previous = Number.POSITIVE_INFINITY;
  let latest = Number.POSITIVE_INFINITY;
  for (let lag = minLag - 1; lag <= maxLag + 1; lag += 1) {
    let sum = 0;
    for (let at = lag; at < length; at += 1) sum += (sharp[at] as number) * (sharp[at - lag] as number);
    const product = (energy[length - lag] as number) * (whole - (energy[lag] as number));
    const correlation = product > 0 ? sum / Math.sqrt(product) : 0;
    if (latest > previous && latest >= correlation && latest > best) best = latest;
    previous = latest;
    latest = correlation;
  }
  return best;
}
