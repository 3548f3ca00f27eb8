import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';

/**
 * Runs one refresh per key at a time. Requests during a refresh cause exactly one more, so that the last refresh starts
 * after the last request. A failed refresh is logged, and the next request runs another one.
 */
export class Refresher {
  readonly #underWay = new Map<string, 'once' | 'again'>();
  readonly #refresh: (key: string) => Promise<void>;
  readonly #logger: Logger;

  constructor(refresh: (key: string) => Promise<void>, logger: Logger) {
    this.#refresh = refresh;
    this.#logger = logger;
  }

  request(key: string): void {
    if (this.#underWay.has(key)) this.#underWay.set(key, 'again');
    else this.#run(key);
  }

  #run(key: string): void {
    this.#underWay.set(key, 'once');
    const refresh = this.#refresh(key).finally(() => {
      if (this.#underWay.get(key) === 'again') this.#run(key);
      else this.#underWay.delete(key);
    });
    background(refresh, this.#logger, 'refresh of live connections');
  }
}
