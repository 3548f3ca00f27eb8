import { maxUtteranceSeconds } from '../../../../shared/contract/ai/voice.ts';
import type { Clock } from '../../../platform/clock.ts';

interface TokenBucket {
  /** Taken at once at most. */
  burst: number;
  perSecond: number;
}

/** Speech in frames of 10 ms, and as much again. */
const frames: TokenBucket = { burst: 2_000, perSecond: 200 };
/** Base64 of speech at 48 kHz, twice as fast as it is spoken; at once, a recording of a minute. */
const bytes: TokenBucket = { burst: 12 * 1024 * 1024, perSecond: 256 * 1024 };

/** Sound, which is to be listened to, however few bytes it takes: twice as fast as it is spoken; at once, two of the longest utterances. */
const sound: TokenBucket = { burst: 2 * maxUtteranceSeconds, perSecond: 2 };

/** What one page may send: as much as speech needs, and a recording at once. */
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

  /** Whether one more frame is within them. */
  acceptFrame(length: number): boolean {
    const now = this.#clock.now();
    const seconds = (now - this.#at) / 1_000;
    this.#at = now;
    this.#frames = Math.min(frames.burst, this.#frames + seconds * frames.perSecond) - 1;
    this.#sound = Math.min(sound.burst, this.#sound + seconds * sound.perSecond);
    this.#bytes = Math.min(bytes.burst, this.#bytes + seconds * bytes.perSecond) - length;
    return this.#frames >= 0 && this.#bytes >= 0;
  }

  /** Whether so much sound, of a frame that was taken, is within them. */
  acceptSound(seconds: number): boolean {
    this.#sound -= seconds;
    return this.#sound >= 0;
  }
}
