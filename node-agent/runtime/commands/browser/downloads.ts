import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Download, Page, Request } from 'playwright-core';
import { background } from '../../background.ts';

/** Size limit of a download, in bytes. It equals the limit of an artifact. */
export const maxDownloadBytes = 256 * 1024 * 1024;
/** Total size limit of the pending downloads of all runs, in bytes. */
const maxPendingBytes = 512 * 1024 * 1024;
/** Pending downloads per run. */
export const maxPendingDownloads = 20;
const checkIntervalMs = 100;
/**
 * Consecutive checks that may find too many bytes in files without a reported download. The browser reports a download
 * shortly after it creates the file.
 */
const maxOverflows = 10;
/** Responses whose content type is kept in case they become a download. */
const maxKnownTypes = 50;

/** A download of a page that no command has returned yet. */
export interface PendingDownload {
  name: string;
  url: string;
  contentType: string;
  state: 'running' | 'saved' | 'failed';
  error: string | null;
  /** Copies the file. Call it only in the state `saved`. */
  saveAs(path: string): Promise<void>;
  /** Cancels the download and removes its file. */
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

/** The downloads of a browser. Their files are in one folder with a size limit, which is removed with the browser. */
export class Downloads implements Disposable {
  readonly folder: string;
  readonly #running = new Set<Download>();
  /** The file of each download, until the file is removed. */
  readonly #files = new Map<Download, string | undefined>();
  readonly #types = new Map<string, string>();
  readonly #sizeCheck: NodeJS.Timeout;
  readonly #maxBytes: number;
  readonly #onOverflow: () => void;
  #overflows = 0;

  /**
   * @param maxBytes Size limit of one download.
   * @param onOverflow Called when downloads that the browser does not report are too large. Only the end of the browser
   *   ends these downloads.
   */
  constructor(folder: string, maxBytes: number, onOverflow: () => void) {
    this.folder = folder;
    this.#maxBytes = maxBytes;
    this.#onOverflow = onOverflow;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#sizeCheck = setInterval(() => this.#enforceLimits(), checkIntervalMs);
    this.#sizeCheck.unref();
  }

  /** Stores the content types of the responses of a page, because a download of Playwright has none. */
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

  /** Watches a download until it ends. */
  track(download: Download): PendingDownload {
    const name = download.suggestedFilename().slice(0, 1000) || 'download';
    const contentType =
      this.#types.get(download.url()) ?? contentTypes[/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''] ?? '';
    const pending: PendingDownload = {
      name,
      url: download.url().slice(0, download.url().startsWith('data:') ? 200 : 16_384),
      contentType: /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/.test(contentType)
        ? contentType
        : 'application/octet-stream',
      state: 'running',
      error: null,
      saveAs: (path) => download.saveAs(path),
      discard: () => this.#discard(download),
    };
    this.#files.set(download, fileOf(download));
    this.#running.add(download);
    background(this.#end(download, pending), 'end of a download');
    return pending;
  }

  /** Cancels a download that no command may return, and removes its file. */
  refuse(download: Download): void {
    this.#files.set(download, fileOf(download));
    background(this.#discard(download), 'removal of a download');
  }

  async #discard(download: Download): Promise<void> {
    await download.cancel().catch(() => undefined);
    await this.#remove(download);
  }

  async #remove(download: Download): Promise<void> {
    await download.delete().catch(() => undefined);
    this.#files.delete(download);
  }

  async #end(download: Download, pending: PendingDownload): Promise<void> {
    try {
      const path = await download.path();
      if (statSync(path).size > this.#maxBytes) throw new Error('too large');
      pending.state = 'saved';
    } catch (error) {
      pending.state = 'failed';
      pending.error = this.#tooLarge.has(download)
        ? `It has more than ${this.#maxBytes} bytes, or the pending downloads of all runs have more than ${maxPendingBytes}.`
        : `It failed: ${(await download.failure().catch(() => null)) ?? (error as Error).message.split('\n')[0] ?? ''}`.slice(
            0,
            1000,
          );
      await this.#remove(download);
    } finally {
      this.#running.delete(download);
    }
  }

  readonly #tooLarge = new WeakSet<Download>();

  /** Cancels downloads that exceed the limit, and the largest one if all downloads together exceed theirs. */
  #enforceLimits(): void {
    const sizes = this.#sizes();
    const reportedSizes = new Map([...this.#files].map(([download, path]) => [download, sizes.get(path ?? '') ?? 0]));
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const unreportedBytes = total - [...reportedSizes.values()].reduce((sum, size) => sum + size, 0);
    const running = [...this.#running]
      .filter((download) => !this.#tooLarge.has(download))
      .toSorted((one, other) => (reportedSizes.get(other) ?? 0) - (reportedSizes.get(one) ?? 0));
    for (const [index, download] of running.entries()) {
      const isTooLarge =
        (reportedSizes.get(download) ?? 0) > this.#maxBytes || (index === 0 && total > maxPendingBytes);
      if (!isTooLarge) break;
      this.#tooLarge.add(download);
      download.cancel().catch(() => undefined);
    }
    // The browser also writes downloads that it does not report, such as those of a window whose opener is closed.
    this.#overflows = unreportedBytes > this.#maxBytes ? this.#overflows + 1 : 0;
    if (this.#overflows > maxOverflows) this.#onOverflow();
  }

  /** The size of each file in bytes. Chromium appends .crdownload to the name while the download runs. */
  #sizes(): Map<string, number> {
    const sizes = new Map<string, number>();
    try {
      for (const name of readdirSync(this.folder)) {
        const { size = 0 } = statSync(join(this.folder, name), { throwIfNoEntry: false }) ?? {};
        const path = join(this.folder, name.replace(/\.crdownload$/, ''));
        sizes.set(path, (sizes.get(path) ?? 0) + size);
      }
    } catch {
      // Another program removed the folder.
    }
    return sizes;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sizeCheck);
    try {
      rmSync(this.folder, { recursive: true, force: true });
    } catch {
      // The next start of the browser removes the folder.
    }
  }
}

/** Whether a failed navigation becomes a download. The browser reports the download after the failure. */
export function becomesDownload(request: Request): boolean {
  const status = request.existingResponse()?.status();
  // A navigation with status 204 or 205 fails with the same error, but its response has no document.
  return request.failure()?.errorText === 'net::ERR_ABORTED' && status !== undefined && ![204, 205].includes(status);
}

/** The part of a DOM element that `isDownloadLink` reads. */
interface PageNode {
  closest(selector: string): { href: string; baseURI: string } | null;
}

/**
 * Returns whether a click on an element downloads the address of its link. Runs in the page. The DevTools protocol
 * reports such a download only when the response begins. Chromium ignores the attribute `download` of a link to another
 * origin.
 */
export function isDownloadLink(element: PageNode): boolean {
  const link = element.closest('a[download], area[download]');
  if (link === null || !URL.canParse(link.href)) return false;
  return /^(blob|data):/.test(link.href) || new URL(link.href).origin === new URL(link.baseURI).origin;
}

/** The file to which a download is written. Playwright has no public API for it before the download ends. */
const fileOf = (download: Download): string | undefined =>
  (download as { _artifact?: { _initializer?: { absolutePath?: string } } })._artifact?._initializer?.absolutePath;
