import { LRUCache } from 'lru-cache';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';

/** What a process knows of the room of a workspace. */
interface Room {
  /** Runs that it may accept before it looks again. */
  left: number;
  /** Until then there is no room, by `performance.now()`. */
  fullUntil: number;
}

const maxWorkspaces = 10_000;
/** What one look allows: other processes accept too, each by a look of its own. */
const shareOfRoom = 1 / 8;
/** So much of the bound may be exceeded by each process, so that a workspace that stays near it is not counted for every run. */
const tolerance = 1 / 200;
const fullForMs = 1_000;
const retryAfterSeconds = 5;

/**
 * Bounds how many runs of a workspace are queued, held ones included. Counting costs as much as there are, so it is done once in many
 * runs: a look allows a share of the room that it saw, and one that saw none refuses for a moment. Of a small bound each run is counted.
 */
export class QueueCapacity {
  readonly #most: number;
  readonly #rooms = new LRUCache<string, Room>({ max: maxWorkspaces });

  /** @param most runs of one workspace that are queued at once; 0 for any number. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Takes room for runs that the caller's transaction is about to accept; answers for how many of them there is. */
  async take(tx: Transaction, tenantId: string, wanted: number): Promise<number> {
    if (this.#most === 0 || wanted === 0) return wanted;
    const known = this.#rooms.get(tenantId);
    if (known !== undefined && performance.now() < known.fullUntil) return 0;
    if (known !== undefined && known.left >= wanted) {
      known.left -= wanted;
      return wanted;
    }
    const { rows } = await tx.query<{ queued: number }>(
      'count_queued_runs',
      `SELECT count(*)::int AS queued FROM (SELECT 1 FROM runs WHERE tenant_id = $1 AND status = 'queued' LIMIT $2) q`,
      [tenantId, this.#most],
    );
    const room = Math.max(this.#most - (rows[0]?.queued ?? 0), 0);
    const taken = Math.min(wanted, room);
    const left = room === 0 ? 0 : Math.floor(Math.max((room - taken) * shareOfRoom, this.#most * tolerance));
    this.#rooms.set(tenantId, { left, fullUntil: room === 0 ? performance.now() + fullForMs : 0 });
    return taken;
  }

  /** Takes room for one run if there is some that was seen before; false says nothing. */
  takeKnown(tenantId: string): boolean {
    if (this.#most === 0) return true;
    const known = this.#rooms.get(tenantId);
    if (known === undefined || known.left < 1 || performance.now() < known.fullUntil) return false;
    known.left -= 1;
    return true;
  }

  /** Takes room for one run. @throws AppError `queued_runs_limit_reached` when there is none. */
  async takeOne(tx: Transaction, tenantId: string): Promise<void> {
    if ((await this.take(tx, tenantId, 1)) !== 1) throw this.refusal();
  }

  /** Why a run for which there is no room is not accepted. */
  refusal(): AppError {
    return new AppError(
      'queued_runs_limit_reached',
      `${this.#most} runs of this workspace wait to begin, and the hub keeps no more (QUEUED_RUNS_PER_WORKSPACE); try again when some have begun, cancel what is not wanted, or loosen the limits that hold them back.`,
      { retryAfterSeconds, limit: this.#most },
    );
  }
}
