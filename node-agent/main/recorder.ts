import { join } from 'node:path';
import { BrowserWindow, ipcMain, session, systemPreferences } from 'electron';
import type { WebContents } from 'electron';
import { recorderAnswer } from '../../shared/companion/recorder.ts';
import type { RecorderAnswer, RecorderCapture, RecorderRequest } from '../../shared/companion/recorder.ts';
import { isAllowed, nextExpiry } from '../../shared/companion/settings.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { AppError } from './call-router.ts';
import { lockSession } from './guards.ts';
import { recorderAddress } from './window-files.ts';
import { serveRecorder } from './window-scheme.ts';

const openDeadlineMs = 10_000;
const answerDeadlineMs = 20_000;
const idleMs = 30_000;

/** A screen stream stays open this long after its last picture, because the desktop asks the owner for each stream. */
const screenIdleMs = 10 * 60_000;

const maxTimerMs = 2 ** 31 - 1;

interface PendingCapture {
  kind: RecorderCapture['kind'];
  resolve: (answer: RecorderAnswer) => void;
}

/**
 * Captures camera, microphone and screen in a hidden page with a separate session. No other page may capture. The page
 * is closed shortly after its last use.
 */
export class Recorder {
  readonly #distFolder: string;
  readonly #pending = new Map<number, PendingCapture>();
  #page: Promise<BrowserWindow> | undefined;
  #contents: WebContents | undefined;
  #nextId = 0;
  #idle: NodeJS.Timeout | undefined;
  #isScreenOpen = false;
  /** The screen that the owner chose. Chromium restores its permission while the app runs, without asking again. */
  #screenSource: string | null = null;
  #isServed = false;
  #closeCount = 0;
  #nextExpiry: NodeJS.Timeout | undefined;

  constructor(distFolder: string) {
    this.#distFolder = distFolder;
    ipcMain.on('recorder:taken', ({ sender }, message: unknown) => {
      const answer = recorderAnswer.safeParse(message);
      if (sender === this.#contents && answer.success) this.#pending.get(answer.data.id)?.resolve(answer.data);
    });
    ipcMain.on('recorder:screen-ended', ({ sender }) => {
      if (sender === this.#contents) this.#screenSource = null;
    });
  }

  /** @throws AppError when the system or the device refuses. */
  async takePicture(device: string | null): Promise<Buffer> {
    await requestSystemPermission('camera');
    return requireBytes(await this.#capture({ kind: 'camera', device }, 0));
  }

  /** @throws AppError when the system or the device refuses. */
  async recordSound(device: string | null, seconds: number): Promise<Buffer> {
    await requestSystemPermission('microphone');
    return requireBytes(await this.#capture({ kind: 'audio', device, seconds }, seconds * 1000));
  }

  /**
   * Takes a picture of the screen that was chosen before, unless the owner ended its capture.
   * @param choose Lets the owner choose a screen. Called only if no screen was chosen, or its capture was ended.
   * @throws AppError when the owner or the system refuses.
   */
  async takeScreen(format: 'png' | 'jpeg', quality: number, choose: () => Promise<string>): Promise<Buffer> {
    const form = { kind: 'screen', contentType: `image/${format}`, quality } as const;
    const picture = await this.#capture({ ...form, source: null }, 0);
    this.#isScreenOpen = true;
    if (picture !== null) return picture;
    const closeCount = this.#closeCount;
    const source = this.#screenSource ?? (await choose());
    // The capture may have been denied while the owner was choosing.
    if (closeCount !== this.#closeCount) throw new AppError('capture_failed', 'The capture was ended.');
    this.#screenSource = null;
    const first = requireBytes(await this.#capture({ ...form, source }, 0));
    this.#screenSource = source;
    return first;
  }

  /** Immediately ends captures that the settings do not allow, and later captures whose permission expires. */
  applySettings(settings: LocalSettings): void {
    clearTimeout(this.#nextExpiry);
    const now = Date.now();
    const mayNot = (kind: RecorderCapture['kind']) => settings.paused || !isAllowed(settings, kind, now);
    if (!isAllowed(settings, 'screen', now)) this.#screenSource = null;
    const used = [...this.#pending.values()].map(({ kind }) => kind);
    if ([...used, ...(this.#isScreenOpen ? (['screen'] as const) : [])].some(mayNot)) this.close();
    const end = nextExpiry(settings, now);
    if (end !== null)
      this.#nextExpiry = setTimeout(() => this.applySettings(settings), Math.min(end - now, maxTimerMs)).unref();
  }

  async #capture(capture: RecorderCapture, lastsMs: number): Promise<Buffer | null> {
    clearTimeout(this.#idle);
    this.#page ??= this.#open();
    const page = await this.#page;
    const id = this.#nextId;
    this.#nextId += 1;
    const response = Promise.withResolvers<RecorderAnswer>();
    this.#pending.set(id, { kind: capture.kind, resolve: response.resolve });
    const deadline = setTimeout(
      () => response.resolve({ id, problem: 'No response in time.' }),
      lastsMs + answerDeadlineMs,
    );
    try {
      page.webContents.send('recorder:take', { id, ...capture } satisfies RecorderRequest);
      const answer = await response.promise;
      if ('problem' in answer)
        throw new AppError('capture_failed', `The ${capture.kind} could not be captured: ${answer.problem}`);
      return answer.bytes === null ? null : Buffer.from(answer.bytes);
    } finally {
      clearTimeout(deadline);
      this.#pending.delete(id);
      if (this.#pending.size === 0)
        this.#idle = setTimeout(() => this.close(), this.#isScreenOpen ? screenIdleMs : idleMs).unref();
    }
  }

  /** Ends all captures and closes the page. */
  close(): void {
    clearTimeout(this.#idle);
    this.#page?.then((page) => page.destroy()).catch(() => undefined);
    this.#closeCount += 1;
    for (const [id, { resolve }] of this.#pending) resolve({ id, problem: 'The capture was ended.' });
    this.#page = undefined;
    this.#contents = undefined;
    this.#isScreenOpen = false;
  }

  async #open(): Promise<BrowserWindow> {
    // The session is in memory only.
    const recorderSession = session.fromPartition('recorder');
    if (!this.#isServed) serveRecorder(recorderSession);
    if (!this.#isServed) lockSession(recorderSession, (contents) => contents === null || contents === this.#contents);
    this.#isServed = true;
    const page = new BrowserWindow({
      show: false,
      webPreferences: {
        session: recorderSession,
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
            () => fail(new AppError('capture_failed', 'The recorder page did not open.')),
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

function requireBytes(bytes: Buffer | null): Buffer {
  if (bytes === null) throw new AppError('capture_failed', 'Nothing was captured.');
  return bytes;
}

async function requestSystemPermission(kind: 'camera' | 'microphone'): Promise<void> {
  if (process.platform !== 'darwin' || systemPreferences.getMediaAccessStatus(kind) === 'granted') return;
  if (!(await systemPreferences.askForMediaAccess(kind)))
    throw new AppError(
      'permission_needed',
      `macOS does not let Outrigger Companion use the ${kind}; allow it in System Settings, Privacy & Security.`,
    );
}
