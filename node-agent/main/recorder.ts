import { join } from 'node:path';
import { BrowserWindow, ipcMain, session, systemPreferences } from 'electron';
import type { WebContents } from 'electron';
import { AppError } from './call-router.ts';
import { lockSession } from './guards.ts';
import { recorderAddress } from './window-files.ts';
import { serveRecorder } from './window-scheme.ts';

const openDeadlineMs = 10_000;
const extraMs = 20_000;
const idleMs = 30_000;

interface Taken {
  id: number;
  bytes?: ArrayBuffer;
  problem?: string;
}

/**
 * Takes pictures of cameras and records microphones in a page of ours that nobody sees: the only one that may, in a session of its own. It is there
 * while it is used and shortly after.
 */
export class Recorder {
  readonly #distFolder: string;
  readonly #waiting = new Map<number, (taken: Taken) => void>();
  #page: Promise<BrowserWindow> | undefined;
  #contents: WebContents | undefined;
  #nextId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(distFolder: string) {
    this.#distFolder = distFolder;
    ipcMain.on('recorder:taken', ({ sender }, taken: Taken) => {
      if (sender === this.#contents) this.#waiting.get(taken.id)?.(taken);
    });
  }

  /** @throws AppError when the system or the device refuses. */
  async take(kind: 'camera' | 'audio', device: string | null, seconds = 0): Promise<Buffer> {
    await askSystem(kind === 'camera' ? 'camera' : 'microphone');
    clearTimeout(this.#idle);
    this.#page ??= this.#open();
    const page = await this.#page;
    const id = this.#nextId;
    this.#nextId += 1;
    const taken = Promise.withResolvers<Taken>();
    this.#waiting.set(id, taken.resolve);
    const deadline = setTimeout(
      () => taken.resolve({ id, problem: 'It did not answer in time.' }),
      seconds * 1000 + extraMs,
    );
    try {
      page.webContents.send('recorder:take', { id, kind, device, seconds });
      const { bytes, problem } = await taken.promise;
      if (bytes === undefined)
        throw new AppError('capture_failed', `The ${kind} gave nothing: ${problem ?? 'unknown'}`);
      return Buffer.from(bytes);
    } finally {
      clearTimeout(deadline);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.close(), idleMs).unref();
    }
  }

  close(): void {
    clearTimeout(this.#idle);
    void this.#page?.then((page) => page.destroy()).catch(() => undefined);
    this.#page = undefined;
    this.#contents = undefined;
  }

  async #open(): Promise<BrowserWindow> {
    // Not kept on disk: nothing of it outlives its page.
    const its = session.fromPartition('recorder');
    if (this.#nextId === 0) serveRecorder(its);
    lockSession(its, (contents) => contents === null || contents === this.#contents);
    const page = new BrowserWindow({
      show: false,
      webPreferences: {
        session: its,
        preload: join(this.#distFolder, 'recorder.cjs'),
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        webviewTag: false,
        spellcheck: false,
        devTools: false,
        backgroundThrottling: false,
        autoplayPolicy: 'no-user-gesture-required',
      },
    });
    this.#contents = page.webContents;
    page.webContents.once('render-process-gone', () => {
      for (const [id, resolve] of this.#waiting) resolve({ id, problem: 'Its page ended.' });
      this.close();
    });
    try {
      await Promise.race([
        page.loadURL(recorderAddress),
        new Promise<never>((_done, fail) =>
          setTimeout(
            () => fail(new AppError('capture_failed', 'The page that records did not open.')),
            openDeadlineMs,
          ).unref(),
        ),
      ]);
      return page;
    } catch (error) {
      page.destroy();
      this.#page = undefined;
      throw error;
    }
  }
}

async function askSystem(kind: 'camera' | 'microphone'): Promise<void> {
  if (process.platform !== 'darwin' || systemPreferences.getMediaAccessStatus(kind) === 'granted') return;
  if (!(await systemPreferences.askForMediaAccess(kind)))
    throw new AppError(
      'permission_needed',
      `macOS does not let Outrigger Companion use the ${kind}; allow it in System Settings, Privacy & Security.`,
    );
}
