import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';
import { bucketOf } from '../../../engine/index.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { costMicrosOf } from './cost.ts';
import type { Tokens } from './cost.ts';
import { writeUsage } from './usage-store.ts';
import type { UsageSum } from './usage-store.ts';

/** A call of a model that ended. */
export interface UsedCall {
  tenantId: string;
  /** Null for the model of the hub. */
  modelId: string | null;
  model: string;
  prices: ModelPrices | null;
  outcome: string;
  ms: number;
  usage: Tokens;
  /** Whether the provider did not say what `usage` is. */
  isEstimated: boolean;
}

interface Batch {
  id: string;
  sums: Map<string, UsageSum>;
  reservations: string[];
  written: PromiseWithResolvers<void>;
}

/** Whoever waits for a database that is away goes on after so long: what they would keep can't be kept either, and the batch is. */
const waitMs = 2_000;
const retryMs = 1_000;
const lastTryMs = 5_000;

const newBatch = (): Batch => ({
  id: newId(),
  sums: new Map(),
  reservations: [],
  written: Promise.withResolvers<void>(),
});

/**
 * Counts every call of a model once. Calls that end while a statement is under way go into the next together, so that a busy hub writes no more than an idle one; whoever
 * keeps what came of a call first waits until it is written. Commits do not wait for the disk: that of the result, which comes after, brings them there.
 * A batch is written under an id, so that one whose commit nobody heard of counts once. It grows with models, not with calls.
 */
export class UsageLedger implements AsyncDisposable {
  readonly #deps: { db: Database; logger: Logger; clock: Clock };
  readonly #stop = new AbortController();
  #next = newBatch();
  #writing: Batch | null = null;
  #loop: Promise<void> | null = null;

  constructor(dependencies: { db: Database; logger: Logger; clock: Clock }) {
    this.#deps = dependencies;
  }

  /** Adds a call to what is written next; never waits. Answers what it cost, in millionths of its currency. */
  add(call: UsedCall): bigint {
    const { tenantId, modelId, model, prices, outcome, ms, usage, isEstimated } = call;
    const cost = prices === null ? 0n : costMicrosOf(usage, prices);
    const currency = prices?.currency ?? '';
    const key = JSON.stringify([tenantId, modelId, model, currency]);
    const sum = this.#next.sums.get(key) ?? {
      id: newId(),
      tenant_id: tenantId,
      model_id: modelId ?? '',
      model,
      currency,
      calls: 0,
      failed: 0,
      estimated: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost_micros: 0n,
      outcomes: {},
      latency: {},
    };
    this.#next.sums.set(key, sum);
    const isAnswered = outcome === 'answered';
    sum.calls += 1;
    sum.failed += isAnswered ? 0 : 1;
    sum.estimated += isEstimated ? 1 : 0;
    sum.input_tokens += usage.inputTokens;
    sum.output_tokens += usage.outputTokens;
    sum.cost_micros += cost;
    sum.outcomes[outcome] = (sum.outcomes[outcome] ?? 0) + 1;
    const bucket = bucketOf(ms);
    if (isAnswered) sum.latency[bucket] = (sum.latency[bucket] ?? 0) + 1;
    this.#write();
    return cost;
  }

  /** Gives back what was reserved, together with what was added before. */
  free(reservation: string): void {
    this.#next.reservations.push(reservation);
    this.#write();
  }

  /** Resolves once all that was added so far is written; after two seconds in any case. */
  async written(): Promise<void> {
    const last = this.#isEmpty ? this.#writing : this.#next;
    if (last === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _late = this.#deps.clock.after(waitMs, resolve);
    await Promise.race([last.written.promise, promise]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const late = setTimeout(() => this.#stop.abort(), lastTryMs);
    await this.#loop;
    clearTimeout(late);
  }

  get #isEmpty(): boolean {
    return this.#next.sums.size === 0 && this.#next.reservations.length === 0;
  }

  #write(): void {
    this.#loop ??= this.#writeAll().finally(() => {
      this.#loop = null;
      if (!this.#isEmpty && !this.#stop.signal.aborted) this.#write();
    });
  }

  async #writeAll(): Promise<void> {
    // What ends in the same turn of the loop goes together.
    await nextTurn();
    while (!this.#isEmpty) {
      const batch = this.#next;
      this.#writing = batch;
      this.#next = newBatch();
      if (!(await this.#writeOne(batch))) return;
      this.#writing = null;
      batch.written.resolve();
    }
  }

  /** Whether it is written; false where the hub ends before that. */
  async #writeOne({ id, sums, reservations }: Batch): Promise<boolean> {
    const { db, logger, clock } = this.#deps;
    for (;;) {
      try {
        await writeUsage(db, id, [...sums.values()], reservations);
        logRecovery(logger, 'usage of models');
        return true;
      } catch (error) {
        logger.warn({ err: error, part: 'usage of models' }, 'usage of models could not be written; it is tried again');
        if (this.#stop.signal.aborted) return false;
        await waitFor(clock, retryMs, this.#stop.signal).catch(() => undefined);
      }
    }
  }
}
