import { join } from 'node:path';
import { BrowserWindow, ipcMain } from 'electron';
import type { WebFrameMain } from 'electron';
import type { WindowAnswer, WindowEvent } from '../../shared/companion/app.ts';
import type { Caller } from './call-router.ts';
import { nextDelay } from './restart-policy.ts';
import { windowAddress } from './window-files.ts';

interface WindowOptions {
  distFolder: string;
  devTools: boolean;
  answer: (caller: Caller, message: unknown) => Promise<WindowAnswer>;
  hasTray: () => boolean;
  log: (event: string, detail?: string) => void;
}

/** The only window of the app. Closing hides it, or minimizes it without a tray. It survives a crash of its page. */
export class CompanionWindow {
  readonly #options: WindowOptions;
  readonly #window: BrowserWindow;
  #isQuitting = false;
  #pendingState: WindowEvent | null = null;
  #waitMs: number | null = null;
  #loadedAt = 0;

  constructor(options: WindowOptions) {
    this.#options = options;
    this.#window = new BrowserWindow({
      width: 980,
      height: 720,
      minWidth: 380,
      minHeight: 480,
      show: false,
      title: 'Outrigger Companion',
      autoHideMenuBar: true,
      webPreferences: {
        preload: join(options.distFolder, 'preload.cjs'),
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        nodeIntegrationInWorker: false,
        nodeIntegrationInSubFrames: false,
        webviewTag: false,
        spellcheck: false,
        navigateOnDragDrop: false,
        devTools: options.devTools,
      },
    });
    this.#window.on('close', (event) => {
      if (this.#isQuitting) return;
      event.preventDefault();
      if (options.hasTray()) this.#window.hide();
      else this.#window.minimize();
    });
    this.#window.on('show', () => this.#handleShown());
    this.#window.on('restore', () => this.#handleShown());
    this.#window.on('focus', () => {
      this.#handleShown();
      this.#window.flashFrame(false);
    });
    this.#window.on('page-title-updated', (event) => event.preventDefault());
    this.#window.webContents.on('render-process-gone', (_gone, { reason }) => {
      if (this.#isQuitting) return;
      this.#waitMs = nextDelay(this.#waitMs, performance.now() - this.#loadedAt);
      options.log('the page of the window crashed and is reloaded', `${reason}, in ${this.#waitMs} ms`);
      setTimeout(() => this.#load(), this.#waitMs).unref();
    });
    ipcMain.handle('companion:call', ({ senderFrame }, message: unknown) =>
      options.answer(
        { address: senderFrame?.url ?? '', isWindow: senderFrame !== null && this.#isMainFrame(senderFrame) },
        message,
      ),
    );
    this.#load();
  }

  get isVisible(): boolean {
    return this.#window.isVisible() && !this.#window.isMinimized();
  }

  show(): void {
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
  }

  /** Shows the window without taking the keyboard focus. */
  showWithoutFocus(): void {
    if (this.#window.isFocused()) return;
    if (this.#window.isMinimized()) this.#window.restore();
    else if (!this.#window.isVisible()) this.#window.showInactive();
    this.#window.flashFrame(true);
  }

  /** Shows the window minimized, for a hidden start without a tray. */
  showMinimized(): void {
    this.#window.minimize();
  }

  /** Sends an event to the page. A hidden window receives only the latest state, when it is shown again. */
  send(event: WindowEvent): void {
    if (event.event === 'state' && !this.#window.isDestroyed() && !this.isVisible) this.#pendingState = event;
    else this.#send(event);
  }

  #handleShown(): void {
    this.#send({ event: 'shown' });
    this.#sendPendingState();
  }

  #sendPendingState(): void {
    if (this.#pendingState === null) return;
    this.#send(this.#pendingState);
    this.#pendingState = null;
  }

  #send(event: WindowEvent): void {
    if (event.event === 'state') this.#pendingState = null;
    if (!this.#window.isDestroyed() && !this.#window.webContents.isCrashed())
      this.#window.webContents.send('companion:event', event);
  }

  /** From now on, closing the window closes it instead of hiding it. */
  allowClose(): void {
    this.#isQuitting = true;
  }

  get browserWindow(): BrowserWindow {
    return this.#window;
  }

  #load(): void {
    if (this.#window.isDestroyed()) return;
    this.#loadedAt = performance.now();
    this.#window
      .loadURL(windowAddress)
      .catch((error: Error) => this.#options.log('the window could not be loaded', error.message));
  }

  #isMainFrame(frame: WebFrameMain): boolean {
    if (this.#window.isDestroyed()) return false;
    const { mainFrame } = this.#window.webContents;
    return frame.processId === mainFrame.processId && frame.routingId === mainFrame.routingId && frame.parent === null;
  }
}
