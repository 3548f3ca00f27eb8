import type { NodeCommands } from '../modules/nodes/index.ts';
import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';
import type { Events } from '../platform/events/events.ts';
import type { Logger } from '../platform/logger.ts';
import type { SkillCatalog } from '../skills/define.ts';
import type { ClaimedRun, Hold, StepRow } from './store.ts';

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
}

/** A run in the hands of this worker. */
export interface HeldRun extends Hold {
  run: ClaimedRun;
  /** What became of the steps so far, by index. */
  results: Map<number, StepRow>;
  signal: AbortSignal;
}
