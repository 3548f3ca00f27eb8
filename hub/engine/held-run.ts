import type { Agent, ToolProfile } from '../../shared/contract/agents.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { AiAnswer, AiRequest } from '../modules/ai/index.ts';
import type { NodeCommands } from '../modules/nodes/index.ts';
import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database, Transaction } from '../platform/db/database.ts';
import type { Events } from '../platform/events/events.ts';
import type { Logger } from '../platform/logger.ts';
import type { SkillCatalog } from '../skills/define.ts';
import type { OutputUses } from './output-uses.ts';
import type { ClaimedRun, Hold, StepRow } from './store.ts';
import type { WorkingMark } from './working-marks.ts';

/** A run that another one leads to: its step waits for it, or its failure is what it is about. */
export interface ChildRequest {
  tenantId: string;
  workflowId: string;
  trigger: { type: string } & JsonObject;
  /** The run whose step waits for it. */
  parentRunId?: string;
  depth: number;
  context: string | null;
  payload: JsonObject | null;
  environment: 'live' | 'test';
  requestedBy: readonly string[];
}

export interface EngineDependencies {
  db: Database;
  events: Events;
  skills: SkillCatalog;
  nodeCommands: NodeCommands;
  logger: Logger;
  /** Hands promised jobs to the queue; called after the commit, never fails. */
  dispatch: (jobs: PromisedJob[]) => void;
  /** Told of every run that ended, with the time from its acceptance, for the metrics. */
  onFinished: (status: 'succeeded' | 'failed', seconds: number) => void;
  /** Starts a run that another one leads to, in the transaction that lets that one wait or end. @throws AppError when it can't be started. */
  startChild: (
    tx: Transaction,
    request: ChildRequest,
  ) => Promise<{ runId: string; job: PromisedJob; committed: () => void }>;
  /** Asks a model. @throws AppError. */
  generate: (request: AiRequest) => Promise<AiAnswer>;
  findAgent: (tx: Transaction, tenantId: string, id: string) => Promise<Agent | null>;
  findToolProfile: (tx: Transaction, tenantId: string, id: string) => Promise<ToolProfile | null>;
  mark: WorkingMark;
}

/** The place for work that a run holds while a worker moves it on. */
export interface Place {
  /** Waits for an answer from outside: the place is another's meanwhile, and taken again before this resolves or rejects. */
  outside<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A run in the hands of this worker. */
export interface HeldRun extends Hold {
  place: Place;
  run: ClaimedRun;
  /** Which outputs its templates read, and where for the last time. */
  uses: OutputUses;
  /** What became of the steps so far, by index; of outputs only what the steps to come may read. */
  results: Map<number, StepRow>;
  /** Aborts when somebody else has the run, it was cancelled, or this worker must go. */
  signal: AbortSignal;
  /** Looks at the rows of its workspace; waits while the database is out of reach, as long as `signal` lets it. */
  read: <Result>(work: (tx: Transaction) => Promise<Result>) => Promise<Result>;
  /** Does synchronous work for a step whose amount is the workflow's or somebody else's, with this process's mark on it. */
  working: <Result>(index: number, work: () => Result) => Result;
  /** Writes what became of a step; while the database is out of reach it is kept and tried again, as long as the run is this worker's. */
  write: <Result>(work: (tx: Transaction) => Promise<Result>, durable?: boolean) => Promise<Result>;
}
