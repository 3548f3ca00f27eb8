/** A way for sound that was broken for so long is said to be, in milliseconds. */
const toldMs = 30_000;
/** And one that was broken for so long ends the call. */
const overMs = 60_000;

/** For how long the way to the other side is broken: its browser may be gone without a word. */
export class Breakage {
  #since: number | null = null;

  /** @param isBroken whether there is no way, and nothing comes by it. */
  note(isBroken: boolean, atMs: number): 'none' | 'told' | 'over' {
    if (!isBroken) {
      this.#since = null;
      return 'none';
    }
    this.#since ??= atMs;
    const lastedMs = atMs - this.#since;
    return lastedMs >= overMs ? 'over' : lastedMs >= toldMs ? 'told' : 'none';
  }
}
