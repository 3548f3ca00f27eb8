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
import type { RunWrites } from './run-writes.ts';
import type { CalledWith, ClaimedRun, RunClaim, StepRow } from './store.ts';

export interface EngineDependencies extends EnginePorts {
  db: Database;
  events: Events;
  skills: SkillCatalog;
  logger: Logger;
  /** Told of every run that ended, with the time from its acceptance, for the metrics. */
  onFinished: (status: 'succeeded' | 'failed', seconds: number) => void;
  mark: WorkingMark;
  memory: MemoryBudget;
  /** Whether outputs of skills are checked against what they promise; for development and tests. */
  validateOutputs: boolean;
  /** Null when nothing is traced. */
  tracing: Tracing | null;
}

/** The place for work that a run holds while a worker moves it on. */
export interface Slot {
  /** Waits for an answer from outside: the place is another's meanwhile, and taken again before this resolves or rejects. */
  outside<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Gives it up for good: what is left to do for the run is no work. */
  release(): void;
}

/** A run in the hands of this worker. */
export interface RunContext extends RunClaim {
  slot: Slot;
  run: ClaimedRun;
  /** Null when nothing is traced. */
  trace: RunTrace | null;
  /** Which outputs its templates read, and where for the last time. */
  uses: OutputUses;
  /** Memory of this process that the run has reserved for what is large. */
  memory: MemoryReservation;
  /** What became of the steps so far, by index; of outputs only what the steps to come may read, and no large ones between two steps. */
  results: Map<number, StepRow>;
  /** What is written of it, one thing after the other. */
  writes: RunWrites;
  /** What the step at hand was called with, as long as that is not written; null when it is, or was not called in this visit. */
  called: CalledWith | null;
  /** Aborts when somebody else has the run, it was cancelled, or this worker must go. */
  signal: AbortSignal;
  /** Looks at the rows of its workspace; waits while the database is out of reach, as long as `signal` lets it. */
  read: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;
  /** Does synchronous work for a step whose amount is the workflow's or somebody else's, with this process's mark on it. */
  working: <Result>(index: number, work: () => Result) => Result;
  /** Writes what became of a step; while the database is out of reach it is kept and tried again, as long as the run is this worker's. */
  write: <Result>(work: (tx: Transaction) => Promise<Result>, durable?: boolean) => Promise<Result>;
}
