/**
 * Audio worklet: splits the microphone's audio into blocks and posts them to the page. It runs in the audio thread,
 * without the page's modules.
 */

declare const sampleRate: number;
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(
  name: string,
  processor: new (options: { processorOptions: CaptureOptions }) => AudioWorkletProcessor,
): void;

export interface CaptureOptions {
  blockMs: number;
  /** Number of input samples averaged into one output sample. */
  ratio: number;
}

/** One block of audio: PCM s16le mono, and its level as root mean square from 0 to 1. */
export interface CapturedBlock {
  pcm: Uint8Array<ArrayBuffer>;
  level: number;
}

class Capture extends AudioWorkletProcessor {
  readonly #ratio: number;
  readonly #samplesPerBlock: number;
  #block: DataView<ArrayBuffer>;
  #sampleCount = 0;
  #energy = 0;
  #sum = 0;
  #sumCount = 0;

  constructor({ processorOptions: { blockMs, ratio } }: { processorOptions: CaptureOptions }) {
    super();
    this.#ratio = ratio;
    this.#samplesPerBlock = Math.round((sampleRate / ratio / 1000) * blockMs);
    this.#block = this.#newBlock();
  }

  /** @returns whether the worklet stays active. */
  process([input]: Float32Array[][]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#sum += sample;
      this.#sumCount += 1;
      if (this.#sumCount === this.#ratio) this.#addSample(this.#sum / this.#ratio);
    }
    return true;
  }

  #addSample(sample: number): void {
    this.#sum = 0;
    this.#sumCount = 0;
    const clamped = Math.max(-1, Math.min(1, sample));
    this.#block.setInt16(this.#sampleCount * 2, Math.round(clamped * (clamped < 0 ? 0x8000 : 0x7fff)), true);
    this.#energy += clamped * clamped;
    this.#sampleCount += 1;
    if (this.#sampleCount < this.#samplesPerBlock) return;
    const block: CapturedBlock = {
      pcm: new Uint8Array(this.#block.buffer),
      level: Math.sqrt(this.#energy / this.#samplesPerBlock),
    };
    this.port.postMessage(block, [block.pcm.buffer]);
    this.#block = this.#newBlock();
    this.#sampleCount = 0;
    this.#energy = 0;
  }

  #newBlock(): DataView<ArrayBuffer> {
    return new DataView(new ArrayBuffer(this.#samplesPerBlock * 2));
  }
}

registerProcessor('capture', Capture);
