/** New calls per minute and softphone. */
const maxDialsPerMinute = 30;
/** Frames in a burst, and frames per second afterwards. */
const maxFramesPerBurst = 200;
export const framesPerSecond = 50;

/** Rate limits of one softphone. */
export class SoftphoneLimits {
  readonly #now: () => number;
  #dials: number[] = [];
  #frames = { left: maxFramesPerBurst, at: 0 };

  constructor(now: () => number) {
    this.#now = now;
  }

  maySend(): boolean {
    const now = this.#now();
    const since = Math.max(0, now - this.#frames.at) / 1_000;
    this.#frames = { left: Math.min(maxFramesPerBurst, this.#frames.left + since * framesPerSecond) - 1, at: now };
    return this.#frames.left >= 0;
  }

  mayDial(): boolean {
    const now = this.#now();
    this.#dials = this.#dials.filter((at) => at > now - 60_000);
    if (this.#dials.length >= maxDialsPerMinute) return false;
    this.#dials.push(now);
    return true;
  }
}
