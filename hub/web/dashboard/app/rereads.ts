import { hashKey } from '@tanstack/react-query';
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { background } from '../../../../shared/web/background.ts';

export interface RereadOptions {
  /** Least time between two reads of a response. */
  everyMs?: number;
  /** Time in which further events of the same change arrive. */
  settleMs?: number;
}

/** So that a page with one busy list sends at most 60 requests a minute. */
const defaultEveryMs = 1_200;
/** A hidden page reads less often by this factor. */
const hiddenFactor = 10;

/** Number of requests of a reread: one for each loaded page of the lists on the screen. */
function costOf(cache: QueryClient, queryKey: QueryKey): number {
  return cache
    .getQueryCache()
    .findAll({ queryKey, type: 'active' })
    .reduce((sum, { state }) => sum + ((state.data as { pages?: unknown[] } | undefined)?.pages?.length ?? 1), 0);
}

/**
 * Reads responses again after events. The requests for a key have a limit, however many events arrive and however many
 * pages a list has. A response that is being read now is read again afterwards: to cancel the request each time would
 * starve a slow one.
 */
export class Rereads {
  readonly #cache: QueryClient;
  /** By key: whether it must be read when its timer ends, and the interval of the last request. */
  readonly #due = new Map<string, { isDue: boolean; everyMs: number }>();

  constructor(cache: QueryClient) {
    this.#cache = cache;
  }

  request(queryKey: QueryKey, { everyMs = defaultEveryMs, settleMs = 0 }: RereadOptions = {}): void {
    const id = hashKey(queryKey);
    const isKnown = this.#due.has(id);
    this.#due.set(id, { isDue: true, everyMs });
    if (!isKnown) setTimeout(() => this.#read(id, queryKey), settleMs);
  }

  #read(id: string, queryKey: QueryKey): void {
    const request = this.#due.get(id);
    if (request?.isDue !== true) {
      this.#due.delete(id);
      return;
    }
    const isIdle = this.#cache.isFetching({ queryKey }) === 0;
    if (isIdle) {
      request.isDue = false;
      background(this.#cache.invalidateQueries({ queryKey }));
    }
    const requests = isIdle ? Math.max(1, costOf(this.#cache, queryKey)) : 1;
    setTimeout(() => this.#read(id, queryKey), request.everyMs * requests * (document.hidden ? hiddenFactor : 1));
  }
}
