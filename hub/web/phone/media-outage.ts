/** The page warns about an outage that lasts this long. */
const warnAfterMs = 30_000;
/** An outage that lasts this long ends the call. */
const endAfterMs = 60_000;

/**
 * Measures how long a call has been without a media path.
 * The browser of the other side may have closed without ending the call.
 */
export class MediaOutage {
  #startedAt: number | null = null;

  /** @param isBroken whether the media path is down and no audio arrives. */
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
