import { join } from 'node:path';
import { app, globalShortcut, session } from 'electron';
import type { AppState, PairingLink } from '../../shared/companion/app.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { AuditLog } from '../runtime/audit.ts';
import { background } from '../runtime/background.ts';
import { ControlRefusal } from '../runtime/control/client.ts';
import { CompanionError } from '../runtime/data-folder.ts';
import type { DataFolder } from '../runtime/data-folder.ts';
import { historyEntryOf } from '../runtime/history.ts';
import { changeSettings } from '../runtime/owner-changes.ts';
import { restartArguments } from './app-arguments.ts';
import type { AppArguments } from './app-arguments.ts';
import { createCallHandlers } from './app-handlers.ts';
import type { AppLog } from './app-log.ts';
import type { Autostart } from './autostart.ts';
import { AppError, createCallRouter } from './call-router.ts';
import { CompanionWindow } from './companion-window.ts';
import { createHostHandlers, readOffer } from './host-handlers.ts';
import { findAutostart, openUpdater, pauseCommandOf, startDetached } from './installation.ts';
import { readPairingLink } from './pairing-link.ts';
import { PromptNotice } from './prompt-notice.ts';
import { Recorder } from './recorder.ts';
import { RuntimeKeeper } from './runtime-keeper.ts';
import { startRuntimeProcess } from './runtime-process.ts';
import { describeForTray } from './tray-state.ts';
import { CompanionTray, desktopHasTray } from './tray.ts';
import type { Updater } from './updates/updater.ts';
import { isWindowAddress } from './window-files.ts';
import { serveWindow } from './window-scheme.ts';

const pauseKeys = 'Control+Alt+Shift+P';
const trayPollMs = 5_000;
const callTimeoutMs = 5_000;

/** The app after Electron is ready: window, tray, shortcut and the companion. */
export class CompanionApp {
  readonly #folder: DataFolder;
  readonly #distFolder: string;
  readonly #log: AppLog;
  readonly #recorder: Recorder;
  readonly #keeper: RuntimeKeeper;
  readonly #window: CompanionWindow;
  readonly #notice = new PromptNotice({ show: () => this.#window.showWithoutFocus(), open: () => this.#window.show() });
  #tray: CompanionTray | null = null;
  #pairingLink: PairingLink | null = null;
  #shortcut: string | null = null;
  #isQuitting = false;
  readonly #autostart: Autostart | null;
  #updater: Updater | undefined;
  #isConfirmed = false;

  private constructor(
    folder: DataFolder,
    log: AppLog,
    distFolder: string,
    offer: Awaited<ReturnType<typeof readOffer>>,
  ) {
    this.#folder = folder;
    this.#distFolder = distFolder;
    this.#autostart = findAutostart(folder.path);
    this.#log = log;
    const note = (event: string, detail?: string) => log.write(event, detail);
    this.#recorder = new Recorder(distFolder);
    this.#keeper = new RuntimeKeeper({
      folder,
      start: () =>
        startRuntimeProcess({
          distFolder,
          dataFolder: folder.path,
          offer,
          handlers: createHostHandlers(this.#recorder),
          log: note,
        }),
      onRuntime: () => this.#runtimeChanged(),
      onEvent: (event) => {
        this.#window.send(event);
        if (event.event !== 'state') return;
        this.#updateTrayState();
        this.#notice.update(event.state.prompts);
        // Stop capturing immediately, in addition to refusing commands.
        this.#recorder.applySettings(event.state.settings);
      },
      log: note,
    });
    const handlers = createCallHandlers(
      {
        state: () => this.state(),
        dismissPairingLink: () => this.#setPairingLink(null),
        setStartAtLogin: (on) => this.#setStartAtLogin(on),
        checkForUpdate: async () => this.#updater?.check(),
        applyUpdate: async () => this.#updater?.apply(),
        logFolder: log.folder,
      },
      this.#keeper,
      () => this.#window,
    );
    this.#window = new CompanionWindow({
      distFolder,
      devTools: !app.isPackaged,
      hasTray: () => this.#tray !== null,
      log: note,
      answer: createCallRouter({
        handlers,
        isWindowAddress,
        explain: (error) => {
          if (error instanceof ControlRefusal) return { code: error.code, message: error.message };
          return error instanceof CompanionError ? { code: 'refused', message: error.message } : null;
        },
        onFault: (method, error) => note('a call failed', `${method}: ${(error as Error).stack ?? String(error)}`),
      }),
    });
  }

  static async start(options: {
    folder: DataFolder;
    log: AppLog;
    distFolder: string;
    appArguments: AppArguments;
  }): Promise<CompanionApp> {
    const { folder, log, distFolder, appArguments } = options;
    serveWindow(session.defaultSession, join(distFolder, 'renderer'));
    const companionApp = new CompanionApp(folder, log, distFolder, await readOffer());
    companionApp.#keeper.start();
    await companionApp.#followUpdates();
    await companionApp.#updateTray();
    setInterval(() => companionApp.#background(companionApp.#updateTray(), 'update of the tray'), trayPollMs).unref();
    companionApp.#registerShortcut();
    app.on('activate', () => companionApp.#window.show());
    if (appArguments.hidden && companionApp.#tray === null) companionApp.#window.showMinimized();
    if (!appArguments.hidden) companionApp.#window.show();
    if (appArguments.link !== null) companionApp.open(appArguments.link);
    return companionApp;
  }

  state(): AppState {
    return {
      version: app.getVersion(),
      platform: process.platform as AppState['platform'],
      runtime: this.#keeper.runtime,
      hasTray: this.#tray !== null,
      startAtLogin: this.#autostart?.isOn() ?? null,
      pauseShortcut: this.#shortcut,
      pauseCommand: pauseCommandOf(this.#folder.path),
      pairingLink: this.#pairingLink,
      update: this.#updater?.state ?? {
        by: 'nobody',
        current: app.getVersion(),
        state: 'idle',
        version: null,
        detail: null,
      },
    };
  }

  /** Handles the arguments of a second start. */
  handleSecondStart(appArguments: AppArguments): void {
    if (appArguments.link !== null) this.open(appArguments.link);
    else if (!appArguments.hidden) this.#window.show();
  }

  /** Shows a pairing link to the owner. Nothing is sent before the owner confirms. */
  open(link: string): void {
    this.#setPairingLink(readPairingLink(link));
    this.#window.show();
  }

  /** Pauses the companion, even if it is not running or hangs. */
  pause(by: string): void {
    this.#log.write('paused', by);
    this.#background(this.#writeChange('pause'), 'pause in the settings file');
    this.#keeper.call('change', { change: 'pause' }, callTimeoutMs).catch(() => undefined);
  }

  /** Stops everything. Resolves when the app may exit. */
  async quit(): Promise<void> {
    if (this.#isQuitting) return;
    this.#isQuitting = true;
    this.#window.allowClose();
    globalShortcut.unregisterAll();
    this.#recorder.close();
    await this.#updater?.[Symbol.asyncDispose]();
    await this.#keeper.stop();
    this.#tray?.remove();
  }

  async #followUpdates(): Promise<void> {
    const args = () => restartArguments(process.argv.slice(1), !this.#window.isVisible);
    this.#updater = await openUpdater(this.#folder.path, {
      onChange: () => this.#publish(),
      whenIdle: (signal) =>
        whenIdle(
          () => this.#keeper.state,
          () => this.#window.isVisible,
          signal,
        ),
      releaseInstance: async () => {
        await this.#keeper.stop();
        app.releaseSingleInstanceLock();
      },
      args,
      exitTo: (program) => {
        this.#log.write('the app exits for another version', program ?? '');
        if (program !== null) startDetached(program, args());
        app.exit(0);
      },
    });
    this.#runtimeChanged();
  }

  /** Confirms the running version as soon as its companion works, so that it is not rolled back. */
  #runtimeChanged(): void {
    const { state } = this.#keeper.runtime;
    if (!this.#isConfirmed && this.#updater !== undefined && (state === 'running' || state === 'attached')) {
      this.#isConfirmed = true;
      this.#updater.confirmStarted();
    }
    this.#publish();
  }

  async #setStartAtLogin(on: boolean): Promise<void> {
    if (this.#autostart === null)
      throw new AppError('not_available', 'This app was not installed, so it cannot start at login.');
    try {
      this.#autostart.set(on);
    } catch (error) {
      throw new AppError('refused', (error as Error).message);
    }
    this.#publish();
  }

  #resume(): void {
    this.#keeper.call('change', { change: 'resume' }, callTimeoutMs).catch(() => this.#writeChange('resume'));
  }

  #background(task: Promise<unknown>, name: string): void {
    background(task, name, (event, detail) => this.#log.write(event, detail));
  }

  /** Writes the change to the settings file, which every companion of this data folder reads. */
  async #writeChange(change: 'pause' | 'resume'): Promise<void> {
    try {
      // The companion sees no difference later and sends no event, so the app sends it.
      const audit = new AuditLog(this.#folder.audit, (line) =>
        this.#window.send({ event: 'command', entry: historyEntryOf(line, { has: () => false }) }),
      );
      await changeSettings(this.#folder, { change }, Date.now(), audit);
    } catch (error) {
      this.#log.write(`could not ${change} in the file`, (error as Error).message);
    }
  }

  #setPairingLink(link: PairingLink | null): void {
    this.#pairingLink = link;
    this.#publish();
  }

  #publish(): void {
    this.#window.send({ event: 'app', state: this.state() });
    this.#updateTrayState();
  }

  /** Adds or removes the tray icon. The tray may appear after the app at login, and disappears with the desktop shell. */
  async #updateTray(): Promise<void> {
    const hasTray = await desktopHasTray();
    // A busy desktop that does not answer keeps what it has.
    if (this.#isQuitting || hasTray === null || hasTray === (this.#tray !== null)) return;
    if (hasTray)
      this.#tray = new CompanionTray(
        join(this.#distFolder, 'icons/tray'),
        {
          open: () => this.#window.show(),
          pause: () => this.pause('the tray'),
          resume: () => this.#resume(),
          quit: () => app.quit(),
        },
        describeForTray(this.#keeper.runtime, this.#keeper.state),
      );
    else {
      this.#tray?.remove();
      this.#tray = null;
      // Without a tray, a hidden window would be unreachable.
      if (!this.#window.isVisible) this.#window.showMinimized();
    }
    this.#publish();
  }

  #updateTrayState(): void {
    this.#tray?.show(describeForTray(this.#keeper.runtime, this.#keeper.state));
  }

  #registerShortcut(): void {
    try {
      if (globalShortcut.register(pauseKeys, () => this.pause('the shortcut'))) this.#shortcut = pauseKeys;
    } catch (error) {
      this.#log.write('no shortcut', (error as Error).message);
    }
  }
}

const pollIntervalMs = 2_000;

/** Resolves when no command runs, no prompt is open and the window is hidden. Rejects when the signal aborts. */
function whenIdle(
  companion: () => CompanionState | null,
  isWindowVisible: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const isIdle = () => {
    const state = companion();
    return !isWindowVisible() && (state === null || (state.running.length === 0 && state.prompts.length === 0));
  };
  return new Promise((done, fail) => {
    const stop = () => {
      clearInterval(timer);
      fail(signal.reason as Error);
    };
    const timer = setInterval(() => {
      if (!isIdle()) return;
      clearInterval(timer);
      signal.removeEventListener('abort', stop);
      done();
    }, pollIntervalMs).unref();
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
