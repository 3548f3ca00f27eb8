import { logRecovery } from '../observability/log-throttle.ts';
import type { Logger } from '../observability/logger.ts';
import { background } from './background.ts';

/**
 * A task that runs at an interval, such as repairing runs, expiring approvals and commands, or deleting old
 * rows.
 */
export interface PeriodicTask {
  name: string;
  everyMs: number;
  /** @param stopping aborts at shutdown. A task that works in batches then ends after the current batch. */
  run: (stopping: AbortSignal) => Promise<unknown>;
}

export interface PeriodicTasksOptions {
  logger: Logger;
  /** Whether this process is the leader, which runs the tasks. */
  leadership: { readonly isHeld: boolean; onGained(listener: () => void): Disposable };
  tasks: PeriodicTask[];
  /** How long running tasks may continue at shutdown, in milliseconds. */
  stopDeadlineMs?: number;
}

const defaultStopDeadlineMs = 10_000;

/**
 * Runs each task at its interval in the leader process of an installation, until disposed. A process that becomes
 * leader runs all tasks immediately. A task never overlaps itself. A failed task is logged and runs again at its next
 * interval.
 */
export class PeriodicTasks implements AsyncDisposable {
  readonly #options: PeriodicTasksOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #underWay = new Map<PeriodicTask, Promise<void>>();
  readonly #subscription: Disposable;
  readonly #stopping = new AbortController();

  constructor(options: PeriodicTasksOptions) {
    this.#options = options;
    const { leadership, tasks } = options;
    const runIfDue = (task: PeriodicTask) => {
      if (leadership.isHeld && !this.#stopping.signal.aborted && !this.#underWay.has(task))
        background(this.#run(task), options.logger, task.name);
    };
    for (const task of tasks) this.#timers.push(setInterval(() => runIfDue(task), task.everyMs));
    this.#subscription = leadership.onGained(() => tasks.forEach(runIfDue));
    tasks.forEach(runIfDue);
  }

  /** Runs every task once, one after the other, also when this process is not the leader. */
  async runAll(): Promise<void> {
    for (const task of this.#options.tasks) {
      await this.#underWay.get(task);
      await this.#run(task);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#subscription[Symbol.dispose]();
    for (const timer of this.#timers) clearInterval(timer);
    const { logger, stopDeadlineMs = defaultStopDeadlineMs } = this.#options;
    const timeout = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => timeout.resolve('late'), stopDeadlineMs);
    const outcome = await Promise.race([Promise.allSettled(this.#underWay.values()), timeout.promise]);
    clearTimeout(timer);
    // The tasks are safe to interrupt at any point.
    if (outcome === 'late')
      logger.warn(
        { tasks: [...this.#underWay.keys()].map(({ name }) => name) },
        'periodic tasks were still running at the shutdown deadline and are interrupted',
      );
  }

  #run(task: PeriodicTask): Promise<void> {
    const { logger } = this.#options;
    const part = `sweep of ${task.name}`;
    const attempt = (async () => {
      try {
        await task.run(this.#stopping.signal);
        logRecovery(logger, part);
      } catch (error) {
        logger.warn({ err: error, part }, 'a periodic task failed and will run again');
      } finally {
        this.#underWay.delete(task);
      }
    })();
    this.#underWay.set(task, attempt);
    return attempt;
  }
}
