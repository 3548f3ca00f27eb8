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

/** An ended model call. */
export interface UsedCall {
  tenantId: string;
  /** Null for the model of the hub. */
  modelId: string | null;
  model: string;
  /** Fingerprint of the provider, address, model and key of the call. */
  connection: string;
  prices: ModelPrices | null;
  outcome: string;
  ms: number;
  usage: Tokens;
  /** Whether `usage` is an estimate because the provider reported none. */
  isEstimated: boolean;
}

interface Batch {
  id: string;
  sums: Map<string, UsageSum>;
  reservations: string[];
  written: PromiseWithResolvers<void>;
}

/** Longest wait of a caller for a write. During an outage the result of the call cannot be stored either. */
const waitMs = 2_000;
const retryMs = 1_000;
const shutdownFlushMs = 5_000;

const newBatch = (): Batch => ({
  id: newId(),
  sums: new Map(),
  reservations: [],
  written: Promise.withResolvers<void>(),
});

/**
 * Counts every model call exactly once.
 * Calls that end during a write go into the next write together, so the load does not increase the number of
 * statements. The size of a batch grows with the number of models, not of calls.
 * A caller stores its result only after the usage is written. The durable commit of the result then also flushes the
 * usage. A batch ID prevents double counting after a lost commit response.
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

  /** Adds a call to the next batch without waiting. Returns its cost in millionths of the currency. */
  add(call: UsedCall): bigint {
    const { tenantId, modelId, model, connection, prices, outcome, ms, usage, isEstimated } = call;
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
      connections: {},
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
    if (isAnswered) {
      const bucket = bucketOf(ms);
      sum.latency[bucket] = (sum.latency[bucket] ?? 0) + 1;
      sum.connections[connection] = (sum.connections[connection] ?? 0) + 1;
    }
    this.#write();
    return cost;
  }

  /** Releases a reservation together with the next batch. */
  release(reservation: string): void {
    this.#next.reservations.push(reservation);
    this.#write();
  }

  /** Resolves when everything added so far is written, at the latest after `waitMs`. */
  async written(): Promise<void> {
    const last = this.#isEmpty ? this.#writing : this.#next;
    if (last === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _late = this.#deps.clock.after(waitMs, resolve);
    await Promise.race([last.written.promise, promise]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const late = setTimeout(() => this.#stop.abort(), shutdownFlushMs);
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
    // Calls that end in the same turn of the event loop go into one batch.
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

  /** Retries until the batch is written. Returns false if the hub stops first. */
  async #writeOne({ id, sums, reservations }: Batch): Promise<boolean> {
    const { db, logger, clock } = this.#deps;
    for (;;) {
      try {
        await writeUsage(db, id, [...sums.values()], reservations);
        logRecovery(logger, 'usage of models');
        return true;
      } catch (error) {
        logger.warn({ err: error, part: 'usage of models' }, 'writing the usage of models failed; the hub retries it');
        if (this.#stop.signal.aborted) return false;
        await waitFor(clock, retryMs, this.#stop.signal).catch(() => undefined);
      }
    }
  }
}
