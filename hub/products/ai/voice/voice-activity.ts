import loadFvad from '@echogarden/fvad-wasm';
import type { Fvad } from '@echogarden/fvad-wasm';

/** Samples per second of the analysed sound. */
export const analysisSampleRate = 16_000;
export const frameMs = 20;
export const frameSamples = (analysisSampleRate * frameMs) / 1_000;

/** Detector mode 2 reports no voice for steady noise that is not loud. */
const detectorMode = 2;
/** The detector reports any sound as voice in the first frames, until it has learned the background noise. */
const warmUpFrames = 5;
/** A voice continues for this number of frames after a sound with a pitch, because consonants have no pitch. */
const pitchHoldFrames = 10;
/** Minimum periodicity of a vowel. Noise stays below 0.2. */
const minPeriodicity = 0.5;
/** Minimum level of a frame that is searched for a pitch: a root mean square of -54 dB. */
const minLevel = 64;

let loading: Promise<Fvad> | undefined;

/** Loads the detector module, which all listeners of a process share. */
export function openFvad(): Promise<Fvad> {
  loading ??= loadFvad().catch((error: unknown) => {
    // The next caller tries again.
    loading = undefined;
    throw error;
  });
  return loading;
}

/**
 * Distinguishes voice from silence and noise, frame by frame. WebRTC's detector also reports loud noise as voice, so a
 * sound with a pitch must be near. Each instance has its own detector state, which is freed on disposal.
 */
export class VoiceActivity implements Disposable {
  readonly #fvad: Fvad;
  readonly #handle: number;
  readonly #pointer: number;
  /** The last two frames at half the sample rate. */
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

  /** Whether a frame contains a voice. Frames must be consecutive. @param frame Samples, `frameSamples` long. */
  isVoice(frame: Int16Array): boolean {
    if (this.#isDisposed) return false;
    this.#frames += 1;
    this.#fvad.HEAP16.set(frame, this.#pointer / 2);
    const mayBeVoice = this.#fvad._fvad_process(this.#handle, this.#pointer, frameSamples) === 1;
    const level = this.#appendToWindow(frame);
    this.#framesSincePitch += 1;
    if (!mayBeVoice || this.#frames <= warmUpFrames) return false;
    // A pitch found in the last few frames is still valid, so the search is skipped.
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

  /** Adds a frame to the window. @returns its level. */
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

/** Lags of the pitch of a voice, in samples at 8 kHz: 60 to 400 Hz. Higher pitches match at a multiple. */
const minLag = 20;
const maxLag = 133;
const emphasis = 0.9;

/** Periodicity of a window at the pitch of a voice, from 0 to 1. 0 for slow signals, such as mains hum. */
function periodicityOf(window: Float64Array): number {
  const { length } = window;
  // Pre-emphasis: without it, noise with more bass than treble would look periodic.
  const sharp = new Float64Array(length);
  /** Cumulative energy before each sample. */
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
