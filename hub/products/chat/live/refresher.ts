/**
 * Runs one refresh per key at a time. Requests during a refresh cause exactly one more, so that the last refresh starts
 * after the last request.
 */
export class Refresher {
  readonly #underWay = new Map<string, 'once' | 'again'>();
  readonly #refresh: (key: string) => Promise<void>;

  /** @param refresh handles its own errors; it must not reject. */
  constructor(refresh: (key: string) => Promise<void>) {
    this.#refresh = refresh;
  }

  request(key: string): void {
    if (this.#underWay.has(key)) this.#underWay.set(key, 'again');
    else void this.#run(key);
  }

  async #run(key: string): Promise<void> {
    do {
      this.#underWay.set(key, 'once');
      await this.#refresh(key);
    } while (this.#underWay.get(key) === 'again');
    this.#underWay.delete(key);
  }
}
