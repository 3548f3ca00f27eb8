import { DatabaseOutage } from '../../platform/db/database.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { writeSunk } from '../calls/row-sink.ts';
import type { DoneStep, Progress, ProgressWriter } from './progress-writer.ts';
import { advanceRun, hasAdvanced, hasDeclared, secondsSince, writeIntent, writeReceipt, writeStep } from './store.ts';
import type { ClaimedRun, Intent, RunAdvance } from './store.ts';

/** How long a step that may be done again without harm stays unwritten at most, in milliseconds. */
const unwrittenMs = 100;

export interface RunWritesOptions {
  db: Database;
  logger: Logger;
  progress: ProgressWriter;
  run: Pick<ClaimedRun, 'id' | 'fence' | 'tenant_id' | 'workflow_id' | 'next_step'>;
  /** Aborts when somebody else has the run: until then what has happened is worth writing. */
  lost: AbortSignal;
  /** Does synchronous work for a step with the mark of this process on it. */
  working: <Result>(index: number, work: () => Result) => Result;
  /** Told after each commit. */
  onWritten: () => void;
}

/** What the end of a step brings along. */
interface Ending {
  advance: Omit<RunAdvance, 'fromStep'>;
  durable: boolean;
}

/**
 * What a worker writes of one run in its hands: one thing after the other, in the order of its steps. Steps that may be done again without
 * harm wait until something else is written, or a moment; nothing of the run is written before them.
 */
export class RunWrites implements Disposable {
  readonly #options: RunWritesOptions;
  /** Steps that are over and not written yet, in their order. */
  readonly #unwritten: DoneStep[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #soon: NodeJS.Timeout | null = null;
  #now: NodeJS.Immediate | null = null;

  constructor(options: RunWritesOptions) {
    this.#options = options;
  }

  /** Has a step written with what comes next, or a moment later: at once where it reached out, unless the next one ends in this very turn. */
  later(step: DoneStep): void {
    this.#unwritten.push(step);
    // Whatever keeps them from being written keeps what is written next from it, too, and is dealt with there.
    const write = () => {
      this.catchUp().catch(() => undefined);
    };
    if (step.receipt === null) this.#soon ??= setTimeout(write, unwrittenMs);
    else this.#now ??= setImmediate(write);
  }

  /** Writes the steps that are over and not written yet. */
  catchUp(): Promise<void> {
    return this.#inTurn(() => this.#writeUnwritten());
  }

  /** Does a transaction by itself; while the database is out of reach it is tried again, as long as the run is this worker's. */
  alone<Result>(work: (tx: Transaction) => Promise<Result>, durable: boolean): Promise<Result> {
    return this.#inTurn(async () => {
      await this.#writeUnwritten();
      return this.#transaction(work, durable);
    });
  }

  /**
   * Writes how a step ended, and the steps before it, together with what became of other runs; false when it was not written, and has to be
   * by itself.
   */
  together(done: DoneStep, rest: Ending): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#unwritten.splice(0);
      const progress = this.#progressOf([...before, done], { ...rest, intents: [] });
      // After an outage nobody knows.
      const isWritten =
        (await this.#writeWithOthers(progress)) ??
        (await this.#transaction((tx) => hasAdvanced(tx, progress, progress.advance), false));
      if (isWritten) this.#options.onWritten();
      else this.#unwritten.unshift(...before);
      return isWritten;
    });
  }

  /**
   * Writes that a step is about to reach out, and the steps before it, together with what became of other runs where that can be. Resolves
   * once it is committed and on the disk. @throws LeaseLost when somebody else has the run; StepFailure `outcome_unknown` when another worker declared the same `once` call.
   */
  declare(step: DoneStep, intent: Intent): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#unwritten.splice(0);
      const progress = this.#progressOf([...before, step], {
        advance: { nextStep: step.record.index, ends: null, error: null },
        intents: [intent],
        durable: true,
      });
      const isWritten =
        (await this.#writeWithOthers(progress)) ??
        (await this.#transaction(
          async (tx) => (await hasAdvanced(tx, progress, progress.advance)) && (await hasDeclared(tx, intent)),
          false,
        ));
      if (isWritten) {
        this.#options.onWritten();
        return;
      }
      this.#unwritten.unshift(...before);
      await this.#writeUnwritten();
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
    this.#rest();
  }

  /** One after the other. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(() => {
      this.#rest();
      return work();
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #rest(): void {
    if (this.#soon !== null) clearTimeout(this.#soon);
    if (this.#now !== null) clearImmediate(this.#now);
    this.#soon = null;
    this.#now = null;
  }

  async #writeUnwritten(): Promise<void> {
    // What ends meanwhile comes with it.
    while (this.#unwritten.length > 0) {
      const steps = this.#unwritten.splice(0);
      try {
        await this.#writeSteps(steps);
      } catch (error) {
        this.#unwritten.unshift(...steps);
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
    if ((await this.#writeWithOthers(progress)) === true) this.#options.onWritten();
    else
      await this.#transaction(async (tx) => {
        const { run, working } = this.#options;
        const beganAgo = steps.map(({ beganAt }) => secondsSince(beganAt));
        // It may have been written all the same.
        if (await hasAdvanced(tx, progress, progress.advance)) return;
        await Promise.all([
          advanceRun(tx, progress, progress.advance),
          ...steps.map(({ record, called }, position) =>
            writeStep(tx, { run, working, called }, record, beganAgo[position]),
          ),
          ...receipts.map((receipt) => writeReceipt(tx, receipt)),
          writeSunk(
            tx,
            steps.flatMap(({ rows }) => rows),
          ),
        ]);
      }, durable);
  }

  #progressOf(steps: readonly DoneStep[], rest: Ending & Pick<Progress, 'intents'>): Progress {
    const { id: runId, fence, workflow_id: workflowId } = this.#options.run;
    const durable = rest.durable || steps.some(({ receipt }) => receipt !== null);
    // The steps before the first of them are written.
    const advance = { ...rest.advance, fromStep: (steps[0] as DoneStep).record.index };
    return { runId, fence, workflowId, steps, ...rest, advance, durable };
  }

  /** Whether it was written; null when nobody knows. */
  async #writeWithOthers(progress: Progress): Promise<boolean | null> {
    const { run, logger, working } = this.#options;
    const index = progress.steps.at(-1)?.record.index ?? run.next_step;
    try {
      return await working(index, () => this.#options.progress.write(run.tenant_id, progress));
    } catch (error) {
      if (error instanceof DatabaseOutage) return null;
      logger.debug({ err: error, runId: progress.runId }, 'a run is written by itself');
      return false;
    }
  }

  async #transaction<Result>(work: (tx: Transaction) => Promise<Result>, durable: boolean): Promise<Result> {
    const { db, run, lost, logger, onWritten } = this.#options;
    const written = await throughOutages(
      lost,
      () => db.workspace(run.tenant_id, work, { durable }),
      (error) => logger.warn({ err: error, runId: run.id, part: 'database' }, 'a run waits for the database'),
    );
    onWritten();
    return written;
  }
}
