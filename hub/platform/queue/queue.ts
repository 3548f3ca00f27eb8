import type { JsonObject } from '../../../shared/json.ts';

/**
 * The queue wakes workers of other processes. The state of runs is in the hub's own tables: a job contains ids only, may be
 * delivered twice, and may be lost with the queue. Workers also look for due runs at an interval.
 */
export interface Queue extends AsyncDisposable {
  /** Adds jobs. A job is ignored while a job with the same id is waiting or active. */
  add(jobs: QueueJob[]): Promise<void>;
  /** Starts a worker. */
  work(options: WorkOptions): Promise<QueueWorker>;
  /** Rejects when the store of the queue does not respond. */
  ping(signal: AbortSignal): Promise<void>;
}

export interface QueueJob {
  name: string;
  /** May contain letters, digits, `-`, `_` and `.`. */
  id: string;
  data: JsonObject;
}

export interface WorkOptions {
  /** Maximum concurrent jobs. */
  concurrency: number;
  /** A job whose handler throws is logged and removed. */
  handler: (job: { name: string; id: string; data: JsonObject }) => Promise<void>;
}

export interface QueueWorker {
  /** Stops fetching jobs, and waits for active jobs until the deadline. */
  drain(deadlineMs: number): Promise<void>;
}
