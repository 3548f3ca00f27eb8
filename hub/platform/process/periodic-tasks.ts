import { logRecovery } from '../observability/log-throttle.ts';
import type { Logger } from '../observability/logger.ts';

/** What is due from time to time: runs to repair, approvals and commands past their time, the outbox, old rows. */
export interface PeriodicTask {
  name: string;
  everyMs: number;
  /** @param stopping aborts when the process is to end: whatever goes on batch by batch then ends with the one under way. */
  run: (stopping: AbortSignal) => Promise<unknown>;
}

export interface PeriodicTasksOptions {
  logger: Logger;
  /** Says whether this process is the one that does them. */
  leadership: { readonly isHeld: boolean; onGained(listener: () => void): Disposable };
  tasks: PeriodicTask[];
  /** How long tasks under way may go on after the process was asked to end, in milliseconds. */
  stopDeadlineMs?: number;
}

const defaultStopDeadlineMs = 10_000;

/**
 * Does its tasks on their own beats, in the one process of an installation that leads, until it is disposed; all of them at once
 * when this process begins to lead. A task never overlaps itself; one that fails is logged and comes again.
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
      if (leadership.isHeld && !this.#stopping.signal.aborted && !this.#underWay.has(task)) void this.#run(task);
    };
    for (const task of tasks) this.#timers.push(setInterval(() => runIfDue(task), task.everyMs));
    this.#subscription = leadership.onGained(() => tasks.forEach(runIfDue));
    tasks.forEach(runIfDue);
  }

  /** Does every task once, whoever leads, one after the other. */
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
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), stopDeadlineMs);
    const outcome = await Promise.race([Promise.allSettled(this.#underWay.values()), late.promise]);
    clearTimeout(timer);
    // Whatever they do bears that the process ends in the midst of it.
    if (outcome === 'late')
      logger.warn(
        { tasks: [...this.#underWay.keys()].map(({ name }) => name) },
        'periodic tasks were still under way at the deadline and are left',
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
        logger.warn({ err: error, part }, 'a sweep failed; it comes again');
      } finally {
        this.#underWay.delete(task);
      }
    })();
    this.#underWay.set(task, attempt);
    return attempt;
  }
}
