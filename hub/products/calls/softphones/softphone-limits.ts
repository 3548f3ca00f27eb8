/** New calls that a softphone may ask for in a minute. */
const maxDialsAMinute = 30;
/** Frames that a softphone may send at once, and in a second from then on. */
const framesAtOnce = 200;
export const framesASecond = 50;

/** How much one softphone may say. */
export class SoftphoneLimits {
  readonly #now: () => number;
  #dials: number[] = [];
  #frames = { left: framesAtOnce, at: 0 };

  constructor(now: () => number) {
    this.#now = now;
  }

  mayTalk(): boolean {
    const now = this.#now();
    const since = Math.max(0, now - this.#frames.at) / 1_000;
    this.#frames = { left: Math.min(framesAtOnce, this.#frames.left + since * framesASecond) - 1, at: now };
    return this.#frames.left >= 0;
  }

  mayDial(): boolean {
    const now = this.#now();
    this.#dials = this.#dials.filter((at) => at > now - 60_000);
    if (this.#dials.length >= maxDialsAMinute) return false;
    this.#dials.push(now);
    return true;
  }
}
