import { maxUtteranceSeconds } from '../../../../shared/contract/ai/voice.ts';
import type { Clock } from '../../../platform/clock.ts';

interface TokenBucket {
  /** Capacity. */
  burst: number;
  perSecond: number;
}

/** Twice the rate of live speech in frames of 10 ms. */
const frames: TokenBucket = { burst: 2_000, perSecond: 200 };
/** Base64 of speech at 48 kHz, at twice the speed of speech. The burst is a recording of one minute. */
const bytes: TokenBucket = { burst: 12 * 1024 * 1024, perSecond: 256 * 1024 };

/**
 * Seconds of sound, because the analysis costs time however few bytes the sound has. Twice the speed of speech. The
 * burst is two of the longest utterances.
 */
const sound: TokenBucket = { burst: 2 * maxUtteranceSeconds, perSecond: 2 };

/** Limits what one page may send: enough for live speech, with a burst for a recording. */
export class VoiceLimits {
  readonly #clock: Clock;
  #at: number;
  #frames = frames.burst;
  #bytes = bytes.burst;
  #sound = sound.burst;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.now();
  }

  /** Counts a frame. Returns false if it exceeds the limits. */
  acceptFrame(length: number): boolean {
    const now = this.#clock.now();
    const seconds = (now - this.#at) / 1_000;
    this.#at = now;
    this.#frames = Math.min(frames.burst, this.#frames + seconds * frames.perSecond) - 1;
    this.#sound = Math.min(sound.burst, this.#sound + seconds * sound.perSecond);
    this.#bytes = Math.min(bytes.burst, this.#bytes + seconds * bytes.perSecond) - length;
    return this.#frames >= 0 && this.#bytes >= 0;
  }

  /** Counts the sound of an accepted frame. Returns false if it exceeds the limit. */
  acceptSound(seconds: number): boolean {
    this.#sound -= seconds;
    return this.#sound >= 0;
  }
}
