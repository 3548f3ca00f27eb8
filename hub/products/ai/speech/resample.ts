import { asBuffer, toSample } from './sound.ts';

/** Zero crossings of the filter to each side, and table entries between two of them. */
const zeroCrossings = 16;
const stepsPerCrossing = 512;
/** Cut-off frequency as a share of half the lower sample rate. Higher frequencies would alias to noise. */
const passband = 0.94;
const kaiserBeta = 9;

function besselI0(x: number): number {
  let [sum, term] = [1, 1];
  for (let k = 1; term > 1e-12 * sum; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/** One side of a Kaiser-windowed sinc. */
const filter = Float64Array.from({ length: zeroCrossings * stepsPerCrossing + 2 }, (_, index) => {
  const x = index / stepsPerCrossing;
  if (x >= zeroCrossings) return 0;
  const window = besselI0(kaiserBeta * Math.sqrt(1 - (x / zeroCrossings) ** 2)) / besselI0(kaiserBeta);
  return x === 0 ? 1 : (Math.sin(Math.PI * x) / (Math.PI * x)) * window;
});

/**
 * Converts a stream of PCM (signed 16 bits, little-endian, one channel) between any two sample rates by a windowed
 * sinc. Parts join without clicks, and frequencies above half the new rate are removed.
 */
export class Resampler {
  readonly #step: number;
  readonly #scale: number;
  readonly #reach: number;
  /** Input samples that are still needed. The first one has the index `#firstIndex` in the whole input. */
  #samples = new Float64Array(0);
  #firstIndex = 0;
  #received = 0;
  #produced = 0;

  /**
   * @param from Samples per second of the input.
   * @param to Samples per second of the output.
   */
  constructor(from: number, to: number) {
    this.#step = from / to;
    this.#scale = Math.min(1, to / from) * passband;
    this.#reach = zeroCrossings / this.#scale;
  }

  /** Returns the output that later input can no longer change. */
  push(pcm: Uint8Array): Uint8Array {
    if (this.#step === 1) return pcm;
    this.#append(samplesOf(pcm));
    return this.#produce(Math.floor((this.#received - this.#reach) / this.#step));
  }

  /** Returns the rest of the output. In total the output lasts as long as the input. */
  end(): Uint8Array {
    return this.#step === 1 ? new Uint8Array() : this.#produce(Math.round(this.#received / this.#step));
  }

  #append(added: Float64Array): void {
    const needed = Math.max(this.#firstIndex, Math.floor(this.#produced * this.#step - this.#reach));
    const kept = this.#samples.subarray(Math.min(this.#samples.length, needed - this.#firstIndex));
    this.#firstIndex = this.#received - kept.length;
    const samples = new Float64Array(kept.length + added.length);
    samples.set(kept);
    samples.set(added, kept.length);
    this.#samples = samples;
    this.#received += added.length;
  }

  /** @param end The total number of output samples to reach. */
  #produce(end: number): Uint8Array {
    const pcm = Buffer.alloc(2 * Math.max(0, end - this.#produced));
    for (let at = 0; at < pcm.length; at += 2, this.#produced += 1) {
      pcm.writeInt16LE(toSample(this.#valueAt(this.#produced * this.#step)), at);
    }
    return pcm;
  }

  #valueAt(time: number): number {
    const [samples, from] = [this.#samples, this.#firstIndex];
    const tableScale = this.#scale * stepsPerCrossing;
    const first = Math.max(from, Math.ceil(time - this.#reach));
    const last = Math.min(this.#received - 1, Math.floor(time + this.#reach));
    let sum = 0;
    for (let index = first; index <= last; index += 1) {
      const position = Math.abs(time - index) * tableScale;
      const below = Math.trunc(position);
      const low = filter[below] as number;
      sum += (samples[index - from] as number) * (low + ((filter[below + 1] as number) - low) * (position - below));
    }
    return sum * this.#scale;
  }
}

function samplesOf(pcm: Uint8Array): Float64Array {
  const bytes = asBuffer(pcm);
  return Float64Array.from({ length: Math.floor(bytes.length / 2) }, (_, index) => bytes.readInt16LE(index * 2));
}

/** Resamples a complete sound. */
export function resample(pcm: Uint8Array, from: number, to: number): Uint8Array {
  const resampler = new Resampler(from, to);
  return Buffer.concat([resampler.push(pcm), resampler.end()]);
}
