import type { UpdateState } from '../../../shared/companion/app.ts';
import { checkEveryMs, checkRegularly } from './updater.ts';
import type { UpdatePort, Updater } from './updater.ts';

/** The used part of electron-updater. It verifies signatures with the means of the system. */
export interface SystemSignedUpdates {
  autoDownload: boolean;
  autoInstallOnAppQuit: boolean;
  allowDowngrade: boolean;
  checkForUpdates(): Promise<{ isUpdateAvailable: boolean; updateInfo: { version: string } } | null>;
  downloadUpdate(): Promise<unknown>;
  quitAndInstall(isSilent?: boolean, isForceRunAfter?: boolean): void;
}

/** Updates with electron-updater, for signed builds on Windows and macOS. */
export class SignedUpdater implements Updater {
  readonly #updates: SystemSignedUpdates;
  readonly #port: UpdatePort;
  readonly #stop = new AbortController();
  #state: UpdateState;
  #work: Promise<void> = Promise.resolve();
  #isChecking = false;

  constructor(current: string, updates: SystemSignedUpdates, port: UpdatePort) {
    this.#updates = updates;
    this.#port = port;
    this.#state = { by: 'app', current, state: 'idle', version: null, detail: null };
    updates.autoDownload = false;
    updates.autoInstallOnAppQuit = true;
    updates.allowDowngrade = false;
    checkRegularly(() => this.check(), checkEveryMs, this.#stop.signal);
  }

  get state(): UpdateState {
    return this.#state;
  }

  check(): Promise<void> {
    if (this.#isChecking || this.#state.state === 'ready' || this.#stop.signal.aborted) return this.#work;
    this.#isChecking = true;
    this.#work = this.#checkForUpdate()
      .catch((error: unknown) => this.#fail('update check failed', error))
      .finally(() => {
        this.#isChecking = false;
      });
    return this.#work;
  }

  async apply(): Promise<void> {
    if (this.#state.state !== 'ready') return;
    await this.#port.releaseInstance();
    try {
      this.#updates.quitAndInstall(true, true);
    } catch (error) {
      this.#fail('update could not be installed', error);
      // The companion has stopped, so the app starts again in its current version.
      this.#port.exitTo(process.execPath);
    }
  }

  confirmStarted(): void {
    // The installers of these systems replace the whole app and keep no previous version.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #checkForUpdate(): Promise<void> {
    this.#set({ state: 'checking', version: null, detail: null });
    const found = await this.#updates.checkForUpdates();
    if (found === null || !found.isUpdateAvailable) {
      this.#set({ state: 'idle', version: null, detail: null });
      return;
    }
    const { version } = found.updateInfo;
    this.#set({ state: 'downloading', version, detail: null });
    await this.#updates.downloadUpdate();
    this.#set({
      state: 'ready',
      version,
      detail: 'It will be installed when no command of the hub runs on this machine.',
    });
    // Without this handler, a failure would restart the app. After a stop, `#set` ignores it.
    this.#port
      .whenIdle(this.#stop.signal)
      .then(() => this.apply())
      .catch((error: unknown) => this.#fail('update could not be installed', error));
  }

  #fail(what: string, error: unknown): void {
    const cause = (error as Error).message.split('\n')[0]?.slice(0, 200);
    this.#set({ state: 'failed', version: null, detail: `The ${what} (${cause}). It will be retried later.` });
  }

  #set(change: Pick<UpdateState, 'state' | 'version' | 'detail'>): void {
    if (this.#stop.signal.aborted) return;
    this.#state = { ...this.#state, ...change };
    this.#port.onChange(this.#state);
  }
}
