import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Download, Page } from 'playwright-core';

/** Greatest download, in bytes: that of an artefact. */
export const maxDownloadBytes = 256 * 1024 * 1024;
/** Bytes of downloads that no command has handed over yet, over all runs. */
const maxHeldBytes = 512 * 1024 * 1024;
/** Downloads of one run that no command has handed over yet. */
export const maxHeldDownloads = 20;
const watchEveryMs = 100;
/** Answers of which the content type is kept for a download that comes of them. */
const maxKnownTypes = 50;

/** A file that a page downloaded, until a command hands it over. */
export interface HeldDownload {
  name: string;
  url: string;
  contentType: string;
  state: 'running' | 'saved' | 'failed';
  error: string | null;
  /** Copies the file; only once it is saved. */
  saveAs(path: string): Promise<void>;
  /** Ends it and removes its file. */
  discard(): Promise<void>;
}

const contentTypes: Record<string, string> = {
  csv: 'text/csv',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  html: 'text/html',
  jpg: 'image/jpeg',
  json: 'application/json',
  pdf: 'application/pdf',
  png: 'image/png',
  txt: 'text/plain',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  zip: 'application/zip',
};

/** The downloads of a browser: files in a folder of its own that are bounded in size and removed with it. */
export class Downloads implements Disposable {
  readonly folder: string;
  readonly #running = new Set<Download>();
  readonly #types = new Map<string, string>();
  #watch: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    this.folder = folder;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Remembers the content types of a page's answers, which its downloads do not tell. */
  follow(page: Page): void {
    page.on('response', (response) => {
      if (!response.request().isNavigationRequest()) return;
      const type = response.headers()['content-type']?.split(';')[0]?.trim().toLowerCase();
      if (type === undefined) return;
      this.#types.set(response.url(), type);
      for (const oldest of this.#types.keys()) {
        if (this.#types.size <= maxKnownTypes) break;
        this.#types.delete(oldest);
      }
    });
  }

  hold(download: Download): HeldDownload {
    const name = download.suggestedFilename().slice(0, 1000) || 'download';
    const known =
      this.#types.get(download.url()) ?? contentTypes[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? '';
    const held: HeldDownload = {
      name,
      url: download.url().slice(0, download.url().startsWith('data:') ? 200 : 16_384),
      contentType: /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/.test(known) ? known : 'application/octet-stream',
      state: 'running',
      error: null,
      saveAs: (path) => download.saveAs(path),
      discard: async () => {
        await download.cancel().catch(() => undefined);
        await download.delete().catch(() => undefined);
      },
    };
    this.#running.add(download);
    this.#watch ??= setInterval(() => this.#assertBounds(), watchEveryMs);
    this.#watch.unref();
    void this.#end(download, held);
    return held;
  }

  async #end(download: Download, held: HeldDownload): Promise<void> {
    try {
      const path = await download.path();
      if (statSync(path).size > maxDownloadBytes) throw new Error('too large');
      held.state = 'saved';
    } catch (error) {
      held.state = 'failed';
      held.error = this.#tooLarge.has(download)
        ? `It has more than ${maxDownloadBytes} bytes, or downloads that were not handed over have more than ${maxHeldBytes}.`
        : `It failed: ${(await download.failure().catch(() => null)) ?? (error as Error).message.split('\n')[0] ?? ''}`.slice(
            0,
            1000,
          );
      await download.delete().catch(() => undefined);
    } finally {
      this.#running.delete(download);
      if (this.#running.size === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
      }
    }
  }

  readonly #tooLarge = new WeakSet<Download>();

  /** Which file belongs to which download the browser does not tell, so that one which is too large ends all that run. */
  #assertBounds(): void {
    let total = 0;
    let largest = 0;
    for (const name of readdirSync(this.folder)) {
      const size = statSync(join(this.folder, name), { throwIfNoEntry: false })?.size ?? 0;
      total += size;
      largest = Math.max(largest, size);
    }
    if (largest <= maxDownloadBytes && total <= maxHeldBytes) return;
    for (const download of this.#running) {
      this.#tooLarge.add(download);
      void download.cancel().catch(() => undefined);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
