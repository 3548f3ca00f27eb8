/** Does one thing at a time for each key, and once more when it was asked for meanwhile: however often it is asked, the last look is after the last question. */
export class Refresher {
  readonly #underWay = new Map<string, 'once' | 'again'>();
  readonly #refresh: (key: string) => Promise<void>;

  /** @param refresh is tried again when it is asked for again; what it throws is its own to tell. */
  constructor(refresh: (key: string) => Promise<void>) {
    this.#refresh = refresh;
  }

  ask(key: string): void {
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
