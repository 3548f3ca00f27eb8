import { setTimeout as delay } from 'node:timers/promises';
import type { AppState } from '../../shared/companion/app.ts';
import type { ControlEvent, ControlMethodName, ControlParams, ControlResult } from '../../shared/companion/control.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { ControlClient, ControlRefusal } from '../runtime/control/client.ts';
import type { DataFolder } from '../runtime/data-folder.ts';
import { AppError } from './call-router.ts';
import type { CompanionProcess } from './companion-process.ts';
import { nextDelay, restartDelays } from './restart-policy.ts';
import type { RestartDelays } from './restart-policy.ts';

export type RuntimeState = AppState['runtime'];

interface KeeperOptions {
  folder: DataFolder;
  /** Starts a runtime on the data folder. */
  start: () => CompanionProcess;
  onRuntime: (state: RuntimeState) => void;
  onEvent: (event: ControlEvent) => void;
  log: (event: string, detail?: string) => void;
  delays?: RestartDelays;
  healthCheck?: HealthCheckTimes;
}

/** How often a companion is asked how it stands, and how long its answer may take, in milliseconds. */
interface HealthCheckTimes {
  everyMs: number;
  deadlineMs: number;
}

const healthCheckTimes: HealthCheckTimes = { everyMs: 15_000, deadlineMs: 10_000 };
/** So many looks in a row without an answer, and it hangs; one may be a machine that slept. */
const maxMissedChecks = 2;

/** How it ended that a companion was followed. */
interface Disconnect {
  isHung: boolean;
  detail: string;
}

const connectDeadlineMs = 30_000;
const connectEveryMs = 100;
const stopDeadlineMs = 10_000;

/**
 * Keeps a companion at work on a data folder: the one that runs there already, else one of its own, which is started again with growing delays
 * whenever it ends by itself, or hangs. Whoever asks speaks with whichever it is.
 */
export class RuntimeKeeper {
  readonly #options: KeeperOptions;
  readonly #stopping = new AbortController();
  #runtime: RuntimeState = { state: 'starting', detail: null };
  #client: ControlClient | undefined;
  #child: CompanionProcess | undefined;
  #state: CompanionState | null = null;
  #work: Promise<void> = Promise.resolve();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get runtime(): RuntimeState {
    return this.#runtime;
  }

  /** What the companion last said of itself; null while none is connected. */
  get state(): CompanionState | null {
    return this.#state;
  }

  start(): void {
    this.#work = this.#run();
  }

  /** @throws AppError while no companion is connected, and what the companion answers. */
  async call<Name extends ControlMethodName>(
    method: Name,
    params: ControlParams<Name>,
    timeoutMs: number,
  ): Promise<ControlResult<Name>> {
    if (this.#client === undefined)
      throw new AppError(
        'not_running',
        `The companion is not running${this.#runtime.detail === null ? ' yet' : `: ${this.#runtime.detail}`}`,
      );
    return this.#client.call(method, params, { timeoutMs });
  }

  /** Ends a runtime of our own, by force when it takes longer than ten seconds; one that ran before is left alone. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the app quits'));
    const child = this.#child;
    if (child !== undefined) {
      child.stop();
      const late = await Promise.race([child.ended.then(() => false), delay(stopDeadlineMs, true, { ref: false })]);
      if (late) {
        this.#options.log('the runtime did not stop in time');
        child.kill();
      }
    }
    this.#client?.[Symbol.dispose]();
    await this.#work;
    this.#setRuntime('stopped', null);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let waitMs: number | null = null;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let detail: string;
      try {
        const running = await ControlClient.open(this.#options.folder, signal);
        detail = running === null ? await this.#runOwn() : (await this.#follow(running, 'attached')).detail;
      } catch (error) {
        detail = (error as Error).message;
      }
      if (signal.aborted) return;
      waitMs = nextDelay(waitMs, performance.now() - startedAt, this.#options.delays ?? restartDelays);
      this.#setRuntime('restarting', `${detail} It starts again in ${Math.ceil(waitMs / 1000)} s.`);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Runs a runtime of our own to its end, and answers in words why it ended. */
  async #runOwn(): Promise<string> {
    if (this.#runtime.state !== 'restarting') this.#setRuntime('starting', null);
    const child = this.#options.start();
    this.#child = child;
    const over = new AbortController();
    const ended = child.ended.then((reason) => {
      over.abort(new Error(reason));
      return reason;
    });
    const isOver = AbortSignal.any([over.signal, this.#stopping.signal]);
    let waitMs: number | null = null;
    try {
      while (!isOver.aborted) {
        const client = await this.#connect(over.signal);
        if (client === null) break;
        const followedAt = performance.now();
        const { isHung, detail } = await this.#follow(client, 'running');
        if (isHung) {
          child.kill();
          await ended;
          return detail;
        }
        waitMs = nextDelay(waitMs, performance.now() - followedAt, this.#options.delays ?? restartDelays);
        if (!isOver.aborted)
          this.#setRuntime('restarting', `${detail} It is asked again in ${Math.ceil(waitMs / 1000)} s.`);
        await delay(waitMs, undefined, { signal: isOver }).catch(() => undefined);
      }
      if (!over.signal.aborted && !this.#stopping.signal.aborted) {
        child.kill();
        return `The runtime did not answer within ${connectDeadlineMs / 1000} s; ${await ended}`;
      }
      return await ended;
    } finally {
      this.#child = undefined;
    }
  }

  async #connect(over: AbortSignal): Promise<ControlClient | null> {
    const signal = AbortSignal.any([over, this.#stopping.signal, AbortSignal.timeout(connectDeadlineMs)]);
    while (!signal.aborted) {
      const client = await ControlClient.open(this.#options.folder, signal).catch(() => null);
      if (client !== null) return client;
      await delay(connectEveryMs, undefined, { signal }).catch(() => undefined);
    }
    return null;
  }

  async #follow(client: ControlClient, as: 'running' | 'attached'): Promise<Disconnect> {
    this.#client = client;
    const over = new AbortController();
    try {
      const handleEvent = (event: ControlEvent) => {
        if (event.event === 'state') this.#state = event.state;
        this.#options.onEvent(event);
      };
      handleEvent({ event: 'state', state: await client.subscribe(handleEvent) });
      this.#setRuntime(as, null);
      const isHung = await Promise.race([client.closed.then(() => false), this.#detectHang(client, over.signal)]);
      if (!isHung) return { isHung, detail: 'The companion ended.' };
      this.#options.log('the companion hangs');
      return { isHung, detail: 'The companion did not answer any more.' };
    } catch (error) {
      this.#options.log('the companion was lost', (error as Error).message);
      return { isHung: false, detail: (error as Error).message };
    } finally {
      over.abort();
      client[Symbol.dispose]();
      this.#client = undefined;
      this.#state = null;
    }
  }

  /** Asks it again and again how it stands; resolves when it does not answer any more, or nobody wants to know. */
  async #detectHang(client: ControlClient, signal: AbortSignal): Promise<boolean> {
    const { everyMs, deadlineMs } = this.#options.healthCheck ?? healthCheckTimes;
    let misses = 0;
    while (misses < maxMissedChecks) {
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return false;
      try {
        await client.call('state', {}, { timeoutMs: deadlineMs, signal });
        misses = 0;
      } catch (error) {
        // A refusal is an answer.
        misses = error instanceof ControlRefusal ? 0 : misses + 1;
      }
    }
    return !signal.aborted;
  }

  #setRuntime(state: RuntimeState['state'], detail: string | null): void {
    this.#runtime = { state, detail };
    this.#options.log(`runtime ${state}`, detail ?? '');
    this.#options.onRuntime(this.#runtime);
  }
}
