import type { Database, Transaction } from '../../platform/db/database.ts';
import type { Events } from '../../platform/events/events.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import type { Tracing } from '../../platform/observability/tracing/tracing.ts';
import type { MemoryReservation, MemoryBudget } from '../../platform/process/memory-budget.ts';
import type { EnginePorts } from '../ports.ts';
import type { WorkingMark } from '../queue/working-marks.ts';
import type { SkillCatalog } from '../skill.ts';
import type { OutputUses } from './output-uses.ts';
import type { RunTrace } from './run-trace.ts';
import type { RunWriteQueue } from './run-write-queue.ts';
import type { CalledWith, ClaimedRun, RunClaim, StepRow } from './store.ts';

export interface EngineDependencies extends EnginePorts {
  db: Database;
  events: Events;
  skills: SkillCatalog;
  logger: Logger;
  /** Called for every run that ends, with the time since its acceptance, in seconds. Used for metrics. */
  onFinished: (status: 'succeeded' | 'failed', seconds: number) => void;
  mark: WorkingMark;
  memory: MemoryBudget;
  /** Whether outputs of skills are checked against their schema. Used in development and tests. */
  validateOutputs: boolean;
  /** Null when nothing is traced. */
  tracing: Tracing | null;
}

/** A slot of the worker pool, which limits how many runs a process executes at the same time. */
export interface Slot {
  /** Waits for an external response. Other runs can use the slot until then. The slot is acquired again before this settles. */
  outside<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Releases the slot for good. What is left to do for the run must not need much CPU time. */
  release(): void;
}

/** A run that this process executes. */
export interface RunContext extends RunClaim {
  slot: Slot;
  run: ClaimedRun;
  /** Null when nothing is traced. */
  trace: RunTrace | null;
  /** Which outputs the templates of the steps read, and which step reads each of them last. */
  uses: OutputUses;
  /** Memory that the run has reserved for large values. */
  memory: MemoryReservation;
  /** Results of the steps so far, by index. They contain only outputs that later steps can read, and no large outputs between two steps. */
  results: Map<number, StepRow>;
  /** The writes of the run, one after the other. */
  writes: RunWriteQueue;
  /** The input of the current step as long as it is not written; null after that, and if this execution has not rendered it. */
  called: CalledWith | null;
  /** Aborts when another process has the run, when the run is cancelled, or when this process stops. */
  signal: AbortSignal;
  /** Reads rows of the workspace. Retried while the database is unavailable, until `signal` aborts. */
  read: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;
  /** Does synchronous work whose amount depends on the workflow or its input. The working mark names the step if the process crashes. */
  working: <Result>(index: number, work: () => Result) => Result;
  /** Writes to the run. Retried while the database is unavailable, as long as this process holds the run. */
  write: <Result>(work: (tx: Transaction) => Promise<Result>, durable?: boolean) => Promise<Result>;
}
