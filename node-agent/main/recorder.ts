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

/** A screen that may be seen is kept so long after its last picture, because the desktop asks the person for each anew. */
const screenIdleMs = 10 * 60_000;

interface Taken {
  id: number;
  bytes?: ArrayBuffer | null;
  problem?: string;
}

type Asked =
  | { kind: 'camera'; device: string | null }
  | { kind: 'audio'; device: string | null; seconds: number }
  | { kind: 'screen'; source: string | null; contentType: string; quality: number };

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
  #seesScreen = false;
  #isServed = false;

  constructor(distFolder: string) {
    this.#distFolder = distFolder;
    ipcMain.on('recorder:taken', ({ sender }, taken: Taken) => {
      if (sender === this.#contents) this.#waiting.get(taken.id)?.(taken);
    });
  }

  /** @throws AppError when the system or the device refuses. */
  async takePicture(device: string | null): Promise<Buffer> {
    await askSystem('camera');
    return given(await this.#take({ kind: 'camera', device }, 0));
  }

  /** @throws AppError when the system or the device refuses. */
  async recordSound(device: string | null, seconds: number): Promise<Buffer> {
    await askSystem('microphone');
    return given(await this.#take({ kind: 'audio', device, seconds }, seconds * 1000));
  }

  /** @param choose Has a person choose a screen, where none is seen already. @throws AppError when the person or the system refuses. */
  async takeScreen(format: 'png' | 'jpeg', quality: number, choose: () => Promise<string>): Promise<Buffer> {
    const form = { kind: 'screen', contentType: `image/${format}`, quality } as const;
    const picture = await this.#take({ ...form, source: null }, 0);
    this.#seesScreen = true;
    return picture ?? given(await this.#take({ ...form, source: await choose() }, 0));
  }

  async #take(asked: Asked, lastsMs: number): Promise<Buffer | null> {
    clearTimeout(this.#idle);
    this.#page ??= this.#open();
    const page = await this.#page;
    const id = this.#nextId;
    this.#nextId += 1;
    const taken = Promise.withResolvers<Taken>();
    this.#waiting.set(id, taken.resolve);
    const deadline = setTimeout(() => taken.resolve({ id, problem: 'It did not answer in time.' }), lastsMs + extraMs);
    try {
      page.webContents.send('recorder:take', { id, ...asked });
      const { bytes, problem } = await taken.promise;
      if (bytes === undefined)
        throw new AppError('capture_failed', `The ${asked.kind} gave nothing: ${problem ?? 'unknown'}`);
      return bytes === null ? null : Buffer.from(bytes);
    } finally {
      clearTimeout(deadline);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0)
        this.#idle = setTimeout(() => this.close(), this.#seesScreen ? screenIdleMs : idleMs).unref();
    }
  }

  /** Ends what is recorded or seen. */
  close(): void {
    clearTimeout(this.#idle);
    void this.#page?.then((page) => page.destroy()).catch(() => undefined);
    for (const [id, resolve] of this.#waiting) resolve({ id, problem: 'It was ended.' });
    this.#page = undefined;
    this.#contents = undefined;
    this.#seesScreen = false;
  }

  async #open(): Promise<BrowserWindow> {
    // Not kept on disk: nothing of it outlives its page.
    const its = session.fromPartition('recorder');
    if (!this.#isServed) serveRecorder(its);
    if (!this.#isServed) lockSession(its, (contents) => contents === null || contents === this.#contents);
    this.#isServed = true;
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
      if (this.#contents === page.webContents) this.close();
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

function given(bytes: Buffer | null): Buffer {
  if (bytes === null) throw new AppError('capture_failed', 'Nothing was captured.');
  return bytes;
}

async function askSystem(kind: 'camera' | 'microphone'): Promise<void> {
  if (process.platform !== 'darwin' || systemPreferences.getMediaAccessStatus(kind) === 'granted') return;
  if (!(await systemPreferences.askForMediaAccess(kind)))
    throw new AppError(
      'permission_needed',
      `macOS does not let Outrigger Companion use the ${kind}; allow it in System Settings, Privacy & Security.`,
    );
}
