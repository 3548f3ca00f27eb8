import { DatabaseOutage } from '../../platform/db/database.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { writeSinkRows } from '../calls/row-sink.ts';
import type { DoneStep, Progress, ProgressWriter } from './progress-writer.ts';
import { advanceRun, hasAdvanced, hasDeclared, secondsSince, writeIntent, writeReceipt, writeStep } from './store.ts';
import type { ClaimedRun, Intent, RunAdvance } from './store.ts';

/** Longest time that a finished step stays unwritten, in milliseconds. */
const maxDeferMs = 100;

export interface RunWriteQueueOptions {
  db: Database;
  logger: Logger;
  progress: ProgressWriter;
  run: Pick<ClaimedRun, 'id' | 'fence' | 'tenant_id' | 'workflow_id' | 'next_step'>;
  /** Aborts when another process has the run. Until then, writes are retried while the database is unavailable. */
  lost: AbortSignal;
  /** Does synchronous work for a step with the working mark of this process. */
  working: <Result>(index: number, work: () => Result) => Result;
  /** Called after each commit. */
  onWritten: () => void;
}

/** How the write of a step changes its run. */
interface Ending {
  advance: Omit<RunAdvance, 'fromStep'>;
  durable: boolean;
}

/**
 * The writes of one run, one after the other, in the order of its steps. Finished steps that can be executed again after a crash are
 * deferred: they are written together with the next write, and before anything else of the run.
 */
export class RunWriteQueue implements Disposable {
  readonly #options: RunWriteQueueOptions;
  /** Finished steps that are not written yet, in their order. */
  readonly #deferred: DoneStep[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #immediate: NodeJS.Immediate | null = null;

  constructor(options: RunWriteQueueOptions) {
    this.#options = options;
  }

  /**
   * Defers the write of a finished step. It is written with the next write of the run, or within 100 ms. A step with an effect is
   * written in the next turn of the event loop, so that a crash rarely loses its receipt.
   */
  defer(step: DoneStep): void {
    this.#deferred.push(step);
    // The next write of the run fails for the same reason, and its caller handles the error.
    const write = () => {
      this.catchUp().catch(() => undefined);
    };
    if (step.receipt === null) this.#timer ??= setTimeout(write, maxDeferMs);
    else this.#immediate ??= setImmediate(write);
  }

  /** Writes the deferred steps. */
  catchUp(): Promise<void> {
    return this.#enqueue(() => this.#writeDeferred());
  }

  /** Writes the deferred steps, then runs a transaction. Both are retried while the database is unavailable and the run is not lost. */
  write<Result>(work: (tx: Transaction) => Promise<Result>, durable: boolean): Promise<Result> {
    return this.#enqueue(async () => {
      await this.#writeDeferred();
      return this.#transaction(work, durable);
    });
  }

  /**
   * Writes the end of a step and the deferred steps in one batch with the progress of other runs. Returns false if the batch could not
   * write it. The caller then writes the end of the step in a transaction of its own.
   */
  writeBatched(done: DoneStep, ending: Ending): Promise<boolean> {
    return this.#enqueue(async () => {
      const before = this.#deferred.splice(0);
      const progress = this.#progressOf([...before, done], { ...ending, intents: [] });
      const isWritten =
        (await this.#writeInBatch(progress)) ??
        (await this.#transaction((tx) => hasAdvanced(tx, progress, progress.advance), false));
      if (isWritten) this.#options.onWritten();
      else this.#deferred.unshift(...before);
      return isWritten;
    });
  }

  /**
   * Writes the intent of a call with an effect, its step and the deferred steps. Resolves when the commit is on disk.
   * @throws LeaseLost when another process has the run; StepFailure `outcome_unknown` when another worker wrote the intent of the same
   * `once` call.
   */
  declare(step: DoneStep, intent: Intent): Promise<void> {
    return this.#enqueue(async () => {
      const before = this.#deferred.splice(0);
      const progress = this.#progressOf([...before, step], {
        advance: { nextStep: step.record.index, ends: null, error: null },
        intents: [intent],
        durable: true,
      });
      const isWritten =
        (await this.#writeInBatch(progress)) ??
        (await this.#transaction(
          async (tx) => (await hasAdvanced(tx, progress, progress.advance)) && (await hasDeclared(tx, intent)),
          false,
        ));
      if (isWritten) {
        this.#options.onWritten();
        return;
      }
      this.#deferred.unshift(...before);
      await this.#writeDeferred();
      const { run, working } = this.#options;
      await this.#transaction(async (tx) => {
        const beganAgo = secondsSince(step.beganAt);
        await advanceRun(tx, progress, { ...progress.advance, fromStep: step.record.index });
        await writeStep(tx, { run, working, called: step.called }, step.record, beganAgo);
        await writeIntent(tx, run.tenant_id, intent);
      }, true);
    });
  }

  [Symbol.dispose](): void {
    this.#clearTimers();
  }

  /** Starts a write when the previous one has ended. */
  #enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => {
      this.#clearTimers();
      return work();
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #clearTimers(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#immediate !== null) clearImmediate(this.#immediate);
    this.#timer = null;
    this.#immediate = null;
  }

  async #writeDeferred(): Promise<void> {
    // More steps can be deferred during a write.
    while (this.#deferred.length > 0) {
      const steps = this.#deferred.splice(0);
      try {
        await this.#writeSteps(steps);
      } catch (error) {
        this.#deferred.unshift(...steps);
        throw error;
      }
    }
  }

  async #writeSteps(steps: readonly DoneStep[]): Promise<void> {
    const nextStep = (steps.at(-1) as DoneStep).record.index + 1;
    const receipts = steps.flatMap(({ receipt }) => receipt ?? []);
    const durable = receipts.length > 0;
    const progress = this.#progressOf(steps, {
      advance: { nextStep, ends: null, error: null },
      intents: [],
      durable,
    });
    if ((await this.#writeInBatch(progress)) === true) {
      this.#options.onWritten();
      return;
    }
    await this.#transaction(async (tx) => {
      const { run, working } = this.#options;
      const beganAgo = steps.map(({ beganAt }) => secondsSince(beganAt));
      // The batch may have been committed although its acknowledgement was lost.
      if (await hasAdvanced(tx, progress, progress.advance)) return;
      await Promise.all([
        advanceRun(tx, progress, progress.advance),
        ...steps.map(({ record, called }, position) =>
          writeStep(tx, { run, working, called }, record, beganAgo[position]),
        ),
        ...receipts.map((receipt) => writeReceipt(tx, receipt)),
        writeSinkRows(
          tx,
          steps.flatMap(({ rows }) => rows),
        ),
      ]);
    }, durable);
  }

  #progressOf(steps: readonly DoneStep[], rest: Ending & Pick<Progress, 'intents'>): Progress {
    const { id: runId, fence, workflow_id: workflowId } = this.#options.run;
    const durable = rest.durable || steps.some(({ receipt }) => receipt !== null);
    // All steps before the first of these are written.
    const advance = { ...rest.advance, fromStep: (steps[0] as DoneStep).record.index };
    return { runId, fence, workflowId, steps, ...rest, advance, durable };
  }

  /** Returns whether the batch wrote the progress; null when that is unknown after an outage. */
  async #writeInBatch(progress: Progress): Promise<boolean | null> {
    const { run, logger, working } = this.#options;
    const index = progress.steps.at(-1)?.record.index ?? run.next_step;
    try {
      return await working(index, () => this.#options.progress.write(run.tenant_id, progress));
    } catch (error) {
      if (error instanceof DatabaseOutage) return null;
      logger.debug({ err: error, runId: progress.runId }, 'a run is written in a transaction of its own');
      return false;
    }
  }

  async #transaction<Result>(work: (tx: Transaction) => Promise<Result>, durable: boolean): Promise<Result> {
    const { db, run, lost, logger, onWritten } = this.#options;
    const written = await retryOnOutage(
      lost,
      () => db.workspace(run.tenant_id, work, { durable }),
      (error) => logger.warn({ err: error, runId: run.id, part: 'database' }, 'a run waits for the database'),
    );
    onWritten();
    return written;
  }
}
