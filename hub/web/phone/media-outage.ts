/** A way for sound that was broken for so long is said to be, in milliseconds. */
const warnAfterMs = 30_000;
/** And one that was broken for so long ends the call. */
const endAfterMs = 60_000;

/** For how long the way to the other side is broken: its browser may be gone without a word. */
export class MediaOutage {
  #startedAt: number | null = null;

  /** @param isBroken whether there is no way, and nothing comes by it. */
  update(isBroken: boolean, atMs: number): 'none' | 'warn' | 'end' {
    if (!isBroken) {
      this.#startedAt = null;
      return 'none';
    }
    this.#startedAt ??= atMs;
    const lastedMs = atMs - this.#startedAt;
    return lastedMs >= endAfterMs ? 'end' : lastedMs >= warnAfterMs ? 'warn' : 'none';
  }
}
