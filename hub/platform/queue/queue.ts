import type { JsonObject } from '../../../shared/json.ts';

/**
 * The queue wakes workers and keeps time. What is true stands in our own tables: a job carries ids only, may come twice, and
 * may be lost with the queue; the sweep then adds it again.
 */
export interface Queue extends AsyncDisposable {
  /** Adds jobs; one whose id is still waiting, delayed or active changes nothing. */
  add(jobs: QueueJob[]): Promise<void>;
  /** Starts to take jobs. */
  work(options: WorkOptions): Promise<QueueWorker>;
  /** Whether the queue's store answers. */
  ping(signal: AbortSignal): Promise<void>;
}

export interface QueueJob {
  name: string;
  /** May hold letters, digits, `-`, `_` and `.`. */
  id: string;
  data: JsonObject;
  notBefore?: Date;
}

export interface WorkOptions {
  /** Jobs at a time. */
  concurrency: number;
  /** One that throws is logged and done with: the sweep brings back what still has to be done. */
  handler: (job: { name: string; id: string; data: JsonObject }) => Promise<void>;
}

export interface QueueWorker {
  /** Takes no more jobs and waits for those under way, at most until the deadline. */
  drain(deadlineMs: number): Promise<void>;
}
