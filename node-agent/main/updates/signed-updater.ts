import type { UpdateState } from '../../../shared/companion/app.ts';
import { checkEveryMs, checkRegularly } from './updater.ts';
import type { UpdatePort, Updater } from './updater.ts';

/** What of electron-updater is used; it checks the signature of what it gets by the system's own means. */
export interface SystemSignedUpdates {
  autoDownload: boolean;
  autoInstallOnAppQuit: boolean;
  allowDowngrade: boolean;
  checkForUpdates(): Promise<{ isUpdateAvailable: boolean; updateInfo: { version: string } } | null>;
  downloadUpdate(): Promise<unknown>;
  quitAndInstall(isSilent?: boolean, isForceRunAfter?: boolean): void;
}

/** Updates by electron-updater, for the builds of Windows and macOS that are signed. */
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
      .catch((error: unknown) =>
        this.#set({
          state: 'failed',
          version: null,
          detail: `No update could be got (${(error as Error).message.split('\n')[0]?.slice(0, 200)}); looked for again later.`,
        }),
      )
      .finally(() => {
        this.#isChecking = false;
      });
    return this.#work;
  }

  async apply(): Promise<void> {
    if (this.#state.state !== 'ready') return;
    await this.#port.releaseInstance();
    this.#updates.quitAndInstall(true, true);
  }

  confirmStarted(): void {
    // The system's installers replace the app as a whole, and keep no predecessor.
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
      detail: 'It is applied as soon as nothing runs on this machine for the hub.',
    });
    void this.#port.whenIdle(this.#stop.signal).then(
      () => this.apply(),
      () => undefined,
    );
  }

  #set(change: Pick<UpdateState, 'state' | 'version' | 'detail'>): void {
    if (this.#stop.signal.aborted) return;
    this.#state = { ...this.#state, ...change };
    this.#port.onChange(this.#state);
  }
}
