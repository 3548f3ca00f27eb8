import type { maxUtteranceSeconds } from '../../../shared/contract/ai/voice.ts';
import { Microphone, MicrophoneError } from './microphone.ts';
import type { VoiceStore } from './state.ts';

export interface MicrophoneCaptureOptions {
  processorUrl: string;
  store: VoiceStore;
  onLevel: (level: number) => void;
  /** A complete utterance, as PCM s16le mono. */
  onUtterance: (pcm: Uint8Array, sampleRate: number) => void;
  /** A block of audio in hands-free mode. */
  onBlock: (pcm: Uint8Array, sampleRate: number) => void;
  /** The user has allowed the microphone, so devices now have names. */
  onDevices: () => void;
}

const maxSeconds: typeof maxUtteranceSeconds = 60;
/** Shorter utterances are ignored as accidental presses. */
const minSeconds = 0.2;
/** An utterance whose loudest block is below this level is silence. Root mean square, 0 to 1. */
const silenceLevel = 0.003;
/** An unused microphone is closed after this time. */
const idleMs = 60_000;
const defaultSampleRate = 16_000;

/**
 * Records utterances, or passes on blocks in hands-free mode. The microphone stays open for a while after use, so that
 * the next utterance is recorded from its start.
 */
export class MicrophoneCapture {
  readonly #options: MicrophoneCaptureOptions;
  #microphone: Microphone | null = null;
  #opening: Promise<Microphone | null> | null = null;
  #blocks: Uint8Array[] = [];
  #bytes = 0;
  #loudest = 0;
  #isRequested = false;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: MicrophoneCaptureOptions) {
    this.#options = options;
  }

  get sampleRate(): number {
    return this.#microphone?.sampleRate ?? defaultSampleRate;
  }

  /** Starts recording once a microphone is open, unless the request was cancelled meanwhile. */
  async start(): Promise<void> {
    this.#isRequested = true;
    this.#options.store.set({ notice: null });
    clearTimeout(this.#idleTimer);
    const microphone = this.#microphone ?? (await (this.#opening ??= this.#open()));
    this.#opening = null;
    if (microphone === null) this.#isRequested = false;
    if (!this.#isRequested) return;
    this.#clearBlocks();
    this.#options.store.set({ isListening: true });
  }

  /** Passes on the recorded audio as one utterance. */
  endUtterance(): void {
    const { store, onUtterance } = this.#options;
    const wasListening = store.state.isListening;
    const blocks = this.#blocks;
    const seconds = this.#bytes / 2 / this.sampleRate;
    const loudest = this.#loudest;
    this.cancel();
    if (!wasListening) return;
    if (seconds < minSeconds || loudest < silenceLevel) {
      store.set({ notice: { kind: 'notHeard' } });
      return;
    }
    const pcm = new Uint8Array(blocks.reduce((sum, block) => sum + block.length, 0));
    let offset = 0;
    for (const block of blocks) {
      pcm.set(block, offset);
      offset += block.length;
    }
    onUtterance(pcm, this.sampleRate);
    if (seconds >= maxSeconds) store.set({ notice: { kind: 'tooLong' } });
  }

  /** Stops recording and discards the recorded audio. */
  cancel(): void {
    this.#isRequested = false;
    this.#clearBlocks();
    if (this.#options.store.state.isListening) this.#options.store.set({ isListening: false });
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.close(), idleMs);
  }

  /** Switches an open microphone to the selected device. */
  async reopen(): Promise<void> {
    // A microphone that is still opening uses the previous selection.
    await this.#opening;
    if (this.#microphone === null) return;
    const wasListening = this.#options.store.state.isListening;
    this.close();
    if (wasListening) await this.start();
  }

  close(): void {
    this.cancel();
    clearTimeout(this.#idleTimer);
    this.#microphone?.close();
    this.#microphone = null;
    this.#options.onLevel(0);
    this.#options.store.set({ microphone: 'closed' });
  }

  async #open(): Promise<Microphone | null> {
    const { store, processorUrl, onDevices } = this.#options;
    store.set({ microphone: 'opening', microphoneProblem: null });
    try {
      const microphone = await Microphone.open({
        processorUrl,
        deviceId: store.state.microphoneId || null,
        onBlock: ({ pcm, level }) => this.#onBlock(pcm, level),
        onLost: () => {
          this.close();
          store.set({ microphoneProblem: 'lost' });
        },
      });
      this.#microphone = microphone;
      store.set({
        microphone: 'open',
        ...(microphone.isReplaced ? { microphoneId: '', microphoneProblem: 'replaced' } : {}),
      });
      onDevices();
      return microphone;
    } catch (error) {
      const problem = error instanceof MicrophoneError ? error.problem : 'failed';
      store.set({ microphone: 'closed', microphoneProblem: problem });
      return null;
    }
  }

  #onBlock(pcm: Uint8Array, level: number): void {
    const { store, onLevel, onBlock } = this.#options;
    onLevel(level);
    if (!store.state.isListening) return;
    if (store.state.isHandsFree) {
      onBlock(pcm, this.sampleRate);
      return;
    }
    this.#blocks.push(pcm);
    this.#bytes += pcm.length;
    this.#loudest = Math.max(this.#loudest, level);
    if (this.#bytes / 2 / this.sampleRate >= maxSeconds) this.endUtterance();
  }

  #clearBlocks(): void {
    this.#blocks = [];
    this.#bytes = 0;
    this.#loudest = 0;
  }
}
