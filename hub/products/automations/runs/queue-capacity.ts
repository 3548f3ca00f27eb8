import { LRUCache } from 'lru-cache';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** The runs that one limit counts: those of one environment of a workspace, so that test runs keep out no live runs. */
export interface RunQueue {
  tenantId: string;
  environment: 'live' | 'test';
}

const keyOf = ({ tenantId, environment }: RunQueue) => `${tenantId} ${environment}`;

/** The cached capacity of a queue. */
interface CachedCapacity {
  /** Runs that this process may accept before it counts again. */
  left: number;
  /** Until then the queue counts as full, in `performance.now()` time. */
  fullUntil: number;
}

const maxQueues = 10_000;
/** The part of the free capacity that a process reserves per count. Other processes count and accept runs too. */
const reservedShare = 1 / 8;
/**
 * The part of the limit by which each process may exceed it. Without it, a queue near its limit would be counted for
 * every run.
 */
const tolerance = 1 / 200;
const fullForMs = 1_000;
const retryAfterSeconds = 5;

/**
 * Limits the queued runs of a workspace, delayed ones included, live and test runs separately.
 * Counting takes time proportional to the number of queued runs, so each count reserves a part of the free capacity. A
 * count without free capacity refuses runs for 1 second. Near a small limit every run is counted.
 */
export class QueueCapacity {
  readonly #limit: number;
  readonly #capacities = new LRUCache<string, CachedCapacity>({ max: maxQueues });

  /** @param limit maximum runs per queue; 0 for no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Reserves capacity for runs that the transaction of the caller is about to accept. @returns the number of runs that
   * fit.
   */
  async reserve(tx: Transaction, queue: RunQueue, wanted: number): Promise<number> {
    if (this.#limit === 0 || wanted === 0) return wanted;
    const known = this.#capacities.get(keyOf(queue));
    if (known !== undefined && performance.now() < known.fullUntil) return 0;
    if (known !== undefined && known.left >= wanted) {
      known.left -= wanted;
      return wanted;
    }
    const { rows } = await tx.query<{ queued: number }>(
      'count_queued_runs',
      `SELECT count(*)::int AS queued FROM (SELECT 1 FROM runs WHERE tenant_id = $1 AND status = 'queued' AND environment = $2 LIMIT $3) q`,
      [queue.tenantId, queue.environment, this.#limit],
    );
    const free = Math.max(this.#limit - (rows[0]?.queued ?? 0), 0);
    const reserved = Math.min(wanted, free);
    const left = free === 0 ? 0 : Math.floor(Math.max((free - reserved) * reservedShare, this.#limit * tolerance));
    this.#capacities.set(keyOf(queue), { left, fullUntil: free === 0 ? performance.now() + fullForMs : 0 });
    return reserved;
  }

  /** Reserves capacity for one run from the cached capacity. @returns false when the capacity must be counted. */
  reserveCached(queue: RunQueue): boolean {
    if (this.#limit === 0) return true;
    const known = this.#capacities.get(keyOf(queue));
    if (known === undefined || known.left < 1 || performance.now() < known.fullUntil) return false;
    known.left -= 1;
    return true;
  }

  /** Reserves capacity for one run. @throws AppError `queued_runs_limit_reached` when the queue is full. */
  async reserveOne(tx: Transaction, queue: RunQueue): Promise<void> {
    if ((await this.reserve(tx, queue, 1)) !== 1) throw this.refusal();
  }

  /** The error for a run that exceeds the limit. */
  refusal(): AppError {
    return new AppError(
      'queued_runs_limit_reached',
      `${this.#limit} runs of this workspace are queued, which is the limit (QUEUED_RUNS_PER_WORKSPACE). Try again when some have started, cancel runs, or raise the limits that delay them.`,
      { retryAfterSeconds, limit: this.#limit },
    );
  }
}
