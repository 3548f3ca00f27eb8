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
  /** Starts a runtime process on the data folder. */
  start: () => CompanionProcess;
  onRuntime: (state: RuntimeState) => void;
  onEvent: (event: ControlEvent) => void;
  log: (event: string, detail?: string) => void;
  delays?: RestartDelays;
  healthCheck?: HealthCheckTimes;
}

/** Interval of health checks, and timeout of each check. */
interface HealthCheckTimes {
  everyMs: number;
  deadlineMs: number;
}

const healthCheckTimes: HealthCheckTimes = { everyMs: 15_000, deadlineMs: 10_000 };
/** A companion hangs after this many failed checks in a row. One failure can be caused by a machine that slept. */
const maxMissedChecks = 2;

/** Why the connection to a companion ended. */
interface Disconnect {
  isHung: boolean;
  detail: string;
}

const connectDeadlineMs = 30_000;
const connectEveryMs = 100;
const stopDeadlineMs = 10_000;

/**
 * Keeps a companion running on a data folder: attaches to one that already runs, else starts its own. Restarts its own
 * with growing delays when it ends by itself or hangs.
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

  /** Latest state of the companion. Null while none is connected. */
  get state(): CompanionState | null {
    return this.#state;
  }

  start(): void {
    this.#work = this.#run();
  }

  /** @throws AppError while no companion is connected. Errors of the companion are passed on. */
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

  /** Stops the runtime that was started here, and kills it after 10 s. An attached companion keeps running. */
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
      this.#setRuntime('restarting', `${detail} It restarts in ${Math.ceil(waitMs / 1000)} s.`);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Starts a runtime and follows it to its end. Resolves to the reason for the end. */
  async #runOwn(): Promise<string> {
    if (this.#runtime.state !== 'restarting') this.#setRuntime('starting', null);
    const child = this.#options.start();
    this.#child = child;
    const exited = new AbortController();
    const ended = child.ended.then((reason) => {
      exited.abort(new Error(reason));
      return reason;
    });
    const stopSignal = AbortSignal.any([exited.signal, this.#stopping.signal]);
    let waitMs: number | null = null;
    try {
      while (!stopSignal.aborted) {
        const client = await this.#connect(exited.signal);
        if (client === null) break;
        const followedAt = performance.now();
        const { isHung, detail } = await this.#follow(client, 'running');
        if (isHung) {
          child.kill();
          await ended;
          return detail;
        }
        waitMs = nextDelay(waitMs, performance.now() - followedAt, this.#options.delays ?? restartDelays);
        if (!stopSignal.aborted) this.#setRuntime('restarting', `${detail} Retrying in ${Math.ceil(waitMs / 1000)} s.`);
        await delay(waitMs, undefined, { signal: stopSignal }).catch(() => undefined);
      }
      if (!exited.signal.aborted && !this.#stopping.signal.aborted) {
        child.kill();
        return `The runtime did not answer within ${connectDeadlineMs / 1000} s; ${await ended}`;
      }
      return await ended;
    } finally {
      this.#child = undefined;
    }
  }

  async #connect(exited: AbortSignal): Promise<ControlClient | null> {
    const signal = AbortSignal.any([exited, this.#stopping.signal, AbortSignal.timeout(connectDeadlineMs)]);
    while (!signal.aborted) {
      const client = await ControlClient.open(this.#options.folder, signal).catch(() => null);
      if (client !== null) return client;
      await delay(connectEveryMs, undefined, { signal }).catch(() => undefined);
    }
    return null;
  }

  async #follow(client: ControlClient, as: 'running' | 'attached'): Promise<Disconnect> {
    this.#client = client;
    const followEnd = new AbortController();
    try {
      const handleEvent = (event: ControlEvent) => {
        if (event.event === 'state') this.#state = event.state;
        this.#options.onEvent(event);
      };
      handleEvent({ event: 'state', state: await client.subscribe(handleEvent) });
      this.#setRuntime(as, null);
      const isHung = await Promise.race([client.closed.then(() => false), this.#detectHang(client, followEnd.signal)]);
      if (!isHung) return { isHung, detail: 'The companion ended.' };
      this.#options.log('the companion hangs');
      return { isHung, detail: 'The companion stopped responding.' };
    } catch (error) {
      this.#options.log('the companion was lost', (error as Error).message);
      return { isHung: false, detail: (error as Error).message };
    } finally {
      followEnd.abort();
      client[Symbol.dispose]();
      this.#client = undefined;
      this.#state = null;
    }
  }

  /** Checks the companion regularly. Resolves to true when it hangs, or to false when the signal aborts. */
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
        // A refusal proves that the companion responds.
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
