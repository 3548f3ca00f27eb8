import { powers } from '../../shared/companion/settings.ts';
import type { LocalSettings, Power } from '../../shared/companion/settings.ts';
import type { SystemPermission } from '../../shared/companion/state.ts';
import {
  hasSoundServer,
  listCameras,
  listDisplays,
  listMicrophones,
  screenProblem,
} from './commands/capture-devices.ts';
import type { HostPort } from './host-port.ts';
import {
  audioPermission,
  browserPermission,
  cameraPermission,
  filesPermission,
  checkSharedFolder,
  screenPermission,
  systemRunPermission,
} from './permission-answers.ts';
import type { DeviceCheck, FolderCheck } from './permission-answers.ts';
import type { ProcessGuard } from './process-guard.ts';

export type SystemPermissions = Record<Power, SystemPermission>;

/** How long lists of devices and folders are cached, in milliseconds. The window requests them often. */
const defaultFreshMs = 10_000;
/** How long a call waits for a check in progress, in milliseconds. */
const defaultWaitMs = 3_000;
const hostTimeoutMs = 5_000;

/** Reads what the system lets the companion use. Slow checks run one at a time, and their results are cached. */
export class PermissionReader implements Disposable {
  readonly #guard: ProcessGuard;
  readonly #host: HostPort | undefined;
  readonly #stop = new AbortController();
  readonly #devices: CachedRead<DeviceCheck>;
  readonly #folders: CachedRead<FolderCheck[]>;

  constructor(guard: ProcessGuard, host?: HostPort, freshMs = defaultFreshMs) {
    this.#guard = guard;
    this.#host = host;
    this.#devices = new CachedRead(freshMs);
    this.#folders = new CachedRead(freshMs);
  }

  /**
   * The system's permission for each power; `unknown` when a check takes longer than `waitMs`.
   * @throws the signal's reason.
   */
  async readPermissions(
    settings: LocalSettings,
    signal: AbortSignal,
    waitMs = defaultWaitMs,
  ): Promise<SystemPermissions> {
    signal.throwIfAborted();
    const { sharedFolders } = settings;
    const [devices, folders] = await Promise.all([
      this.#devices.get('', () => this.#checkDevices(), signal, waitMs),
      this.#folders.get(
        JSON.stringify(sharedFolders),
        () => Promise.all(sharedFolders.map(checkSharedFolder)),
        signal,
        waitMs,
      ),
    ]);
    const check: DeviceCheck = devices ?? { host: {} };
    const captures = this.#host?.offer.captures ?? [];
    return {
      screen: screenPermission(check, captures),
      camera: cameraPermission(check, captures),
      audio: audioPermission(check, captures),
      files: check.host.files ?? filesPermission(sharedFolders, folders),
      system: check.host.system ?? systemRunPermission(),
      browser: check.host.browser ?? browserPermission(settings.browser),
    };
  }

  /** Ends checks in progress. */
  [Symbol.dispose](): void {
    this.#stop.abort(new Error('the companion stops'));
  }

  async #checkDevices(): Promise<DeviceCheck> {
    const { signal } = this.#stop;
    const [displays, cameras, microphones, soundServer, ...answers] = await Promise.all([
      // Without a screen, listing displays takes long and finds none.
      screenProblem() === null ? orUndefined(listDisplays(this.#guard, signal)) : [],
      orUndefined(listCameras(this.#guard, signal)),
      orUndefined(listMicrophones(this.#guard, signal)),
      orUndefined(hasSoundServer(this.#guard, signal)),
      ...powers.map((power) => this.#askHost(power)),
    ]);
    const host: DeviceCheck['host'] = {};
    for (const [index, power] of powers.entries()) {
      const answer = answers[index];
      if (answer !== null && answer !== undefined) host[power] = answer;
    }
    return { displays, cameras, microphones, soundServer, host };
  }

  async #askHost(power: Power): Promise<SystemPermission | null> {
    if (this.#host === undefined) return null;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(hostTimeoutMs)]);
    const answer = await orUndefined(this.#host.call('permission', { power }, signal));
    return answer?.permission ?? null;
  }
}

const orUndefined = <Value>(promise: Promise<Value>): Promise<Value | undefined> => promise.catch(() => undefined);

/**
 * Caches the result of a slow check. Only one check runs at a time, so that a disk that hangs blocks only one thread.
 */
class CachedRead<Value> {
  readonly #freshMs: number;
  #last: { key: string; value: Value; at: number } | undefined;
  #running: Promise<void> | undefined;

  constructor(freshMs: number) {
    this.#freshMs = freshMs;
  }

  /** The value for a key: a fresh one if it is read in time, else the last value of the same key, or undefined. */
  async get(key: string, read: () => Promise<Value>, signal: AbortSignal, waitMs: number): Promise<Value | undefined> {
    const isFresh = () => this.#last?.key === key && performance.now() - this.#last.at < this.#freshMs;
    const timeUp = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    while (!isFresh() && !timeUp.aborted) {
      this.#running ??= this.#read(key, read);
      await untilDone(this.#running, timeUp);
    }
    signal.throwIfAborted();
    return this.#last?.key === key ? this.#last.value : undefined;
  }

  async #read(key: string, read: () => Promise<Value>): Promise<void> {
    try {
      const value = await read();
      this.#last = { key, value, at: performance.now() };
    } finally {
      this.#running = undefined;
    }
  }
}

/** Resolves when the work is done or the signal aborts. */
async function untilDone(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => aborted.resolve(), { once: true });
  if (signal.aborted) aborted.resolve();
  await Promise.race([work, aborted.promise]);
}
