/** Runs in the thread of the audio, where no library of the page is: cuts what the microphone hears into blocks, and hands them over. */

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
  /** So many samples become one. */
  ratio: number;
}

/** What was heard for one block: PCM s16le mono, and how loud it was, as root mean square from 0 to 1. */
export interface CapturedBlock {
  pcm: Uint8Array<ArrayBuffer>;
  level: number;
}

class Capture extends AudioWorkletProcessor {
  readonly #ratio: number;
  readonly #samples: number;
  #block: DataView<ArrayBuffer>;
  #at = 0;
  #energy = 0;
  #sum = 0;
  #summed = 0;

  constructor({ processorOptions: { blockMs, ratio } }: { processorOptions: CaptureOptions }) {
    super();
    this.#ratio = ratio;
    this.#samples = Math.round((sampleRate / ratio / 1000) * blockMs);
    this.#block = this.#newBlock();
  }

  /** @returns whether it goes on. */
  process([input]: Float32Array[][]): boolean {
    for (const sample of input?.[0] ?? []) {
      this.#sum += sample;
      this.#summed += 1;
      if (this.#summed === this.#ratio) this.#take(this.#sum / this.#ratio);
    }
    return true;
  }

  #take(sample: number): void {
    this.#sum = 0;
    this.#summed = 0;
    const held = Math.max(-1, Math.min(1, sample));
    this.#block.setInt16(this.#at * 2, Math.round(held * (held < 0 ? 0x8000 : 0x7fff)), true);
    this.#energy += held * held;
    this.#at += 1;
    if (this.#at < this.#samples) return;
    const block: CapturedBlock = {
      pcm: new Uint8Array(this.#block.buffer),
      level: Math.sqrt(this.#energy / this.#samples),
    };
    this.port.postMessage(block, [block.pcm.buffer]);
    this.#block = this.#newBlock();
    this.#at = 0;
    this.#energy = 0;
  }

  #newBlock(): DataView<ArrayBuffer> {
    return new DataView(new ArrayBuffer(this.#samples * 2));
  }
}

registerProcessor('capture', Capture);
