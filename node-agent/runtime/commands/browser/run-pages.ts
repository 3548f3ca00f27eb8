import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { maxNotes } from '../../../../shared/commands/browser-common.ts';
import type { CommandOrigin } from '../../../../shared/commands/origin.ts';
import { CommandError } from '../handler.ts';
import type { PendingDownload } from './downloads.ts';

/** The owner of pages: a run, or the caller of direct calls. */
export interface PageOwner {
  key: string;
  /** The run whose end closes the pages; null for pages that only the idle time-out closes. */
  runId: string | null;
}

/**
 * Returns the owner of the pages that a command may use. Each run of a workflow has its own pages. A direct call of a
 * skill is a run of one step, so the pages of direct calls belong to the calling user or API key. All commands of a hub
 * that sends no origin share one set of pages.
 */
export function pageOwnerOf(origin: CommandOrigin | undefined): PageOwner {
  if (origin?.run === undefined) return { key: 'hub', runId: null };
  if (origin.workflow !== undefined) return { key: `run ${origin.run.id}`, runId: origin.run.id };
  const { kind, id } = origin.startedBy ?? { kind: 'other', id: undefined };
  return { key: `direct ${kind} ${id ?? ''}`, runId: null };
}

export interface OpenPage {
  id: string;
  page: Page;
  pages: RunPages;
  /** The page that opened this page; null if a command opened it. */
  opener: OpenPage | null;
  usedAt: number;
  /** Number of commands that use the page now. */
  busy: number;
  /** Why the last refused navigation was refused, until a command reports it. */
  refused: string | null;
  /** Why the companion closed the page; null if the companion did not close it. */
  closedWhy: string | null;
  /** Times of recent dialogs, by `performance.now()`. */
  dialogTimes: number[];
  /** The target ID of the DevTools protocol; null until `identified` resolves, or if the page closes before. */
  targetId: string | null;
  identified: Promise<void>;
  /** Resolves when requests of the page for new windows are observed. */
  ready: Promise<void>;
  /** Number of dialogs since the last command began. */
  dialogs: number;
}

export interface DialogNote {
  type: string;
  message: string;
  answer: 'accepted' | 'dismissed';
}

/** The answers to dialogs while a command runs. */
export interface DialogPolicy {
  answer: 'accept' | 'dismiss' | undefined;
  promptText: string | undefined;
}

/** Open pages per run. */
export const maxPagesOfRun = 10;
/** Closed pages per run whose close reason is kept. */
const maxCloseReasons = 50;
/** Length limit for the addresses of expected windows. */
const maxUrlLength = 16_384;
/** Downloads per run whose file name is kept. */
const maxDownloadNames = 200;

/** The pages of one owner, and their dialogs, opened pages and downloads since the last command. */
export class RunPages {
  readonly owner: PageOwner;
  readonly open = new Map<string, OpenPage>();
  /** The page that commands without a `pageId` act on. */
  current: OpenPage | null = null;
  /** Why the last current page was closed, until another page becomes the current one. */
  currentCloseReason: string | null = null;
  policy: DialogPolicy = { answer: undefined, promptText: undefined };
  dialogs: DialogNote[] = [];
  /** Addresses of windows that pages have requested and that the browser may not have opened yet. */
  expectedOpens: string[] = [];
  opened: { entry: OpenPage | null; url: string }[] = [];
  downloads: PendingDownload[] = [];
  /** Whether a page has started a download that the browser has not reported yet. */
  expectsDownload = false;
  touchedAt = performance.now();
  /** When the hub last confirmed the run as open; 0 before that. */
  confirmedAt = 0;
  readonly #reasons = new Map<string, string>();
  /** Original file names of downloads, by the name of the artifact. */
  readonly #downloadNames = new Map<string, string>();

  constructor(owner: PageOwner) {
    this.owner = owner;
  }

  add(page: Page, opener: OpenPage | null): OpenPage {
    const entry: OpenPage = {
      // Random, so that an ID from before a restart of the companion never names another page.
      id: `page-${randomBytes(6).toString('hex')}`,
      page,
      pages: this,
      opener,
      usedAt: performance.now(),
      busy: 0,
      refused: null,
      closedWhy: null,
      dialogTimes: [],
      targetId: null,
      identified: Promise.resolve(),
      ready: Promise.resolve(),
      dialogs: 0,
    };
    this.open.set(entry.id, entry);
    return entry;
  }

  /**
   * Returns an artifact name for a download. It has only safe characters and is unique in the result of the command.
   */
  nameArtifact(name: string, number: number): string {
    const artifact = `download-${number}-${name.replaceAll(/[^A-Za-z0-9._-]+/g, '_').slice(-150)}`;
    this.#downloadNames.set(artifact, name);
    const [oldest] = this.#downloadNames.keys();
    if (this.#downloadNames.size > maxDownloadNames && oldest !== undefined) this.#downloadNames.delete(oldest);
    return artifact;
  }

  /** Returns the original file name of a download by the name of its artifact; for other artifacts that name. */
  originalNameOf(artifact: string): string {
    // After a restart of the companion, only the artifact name is known.
    return this.#downloadNames.get(artifact) ?? artifact.replace(/^download-\d+-/, '');
  }

  makeCurrent(entry: OpenPage): void {
    this.current = entry;
    this.currentCloseReason = null;
  }

  /** Removes a closed page and stores why it was closed. */
  remove(entry: OpenPage): void {
    if (!this.open.delete(entry.id)) return;
    const why = entry.closedWhy ?? 'it closed itself, or its browser ended';
    this.#reasons.set(entry.id, why);
    for (const oldest of this.#reasons.keys()) {
      if (this.#reasons.size <= maxCloseReasons) break;
      this.#reasons.delete(oldest);
    }
    if (this.current !== entry) return;
    this.current = null;
    const { opener } = entry;
    // When a popup closes itself, the page that opened it becomes the current page.
    if (entry.closedWhy === null && opener !== null && this.open.has(opener.id)) this.makeCurrent(opener);
    else this.currentCloseReason = `${entry.id} is closed: ${why}`;
  }

  /** The error for a command on a page that is not open. Without an ID, for a run without a current page. */
  closed(pageId?: string): CommandError {
    const reason = pageId === undefined ? undefined : this.#reasons.get(pageId);
    const message =
      pageId !== undefined
        ? `The page ${pageId} is not open${reason === undefined ? ': it was closed, or the companion has restarted since' : `: ${reason}`}`
        : this.currentCloseReason !== null
          ? `The page ${this.currentCloseReason}`
          : 'There is no open page: this run opened none, or the companion or its browser has restarted since';
    return new CommandError('page_closed', `${message}. Open one with browser.navigate.`);
  }

  noteDialog(note: DialogNote): void {
    if (this.dialogs.length < maxNotes) this.dialogs.push(note);
  }

  expectOpen(url: string): void {
    if (this.expectedOpens.length < maxNotes) this.expectedOpens.push(url.slice(0, maxUrlLength));
  }

  /** @param url The address of the window; empty for a window that was closed before its first navigation committed. */
  noteOpened(entry: OpenPage | null, url: string): void {
    const index = Math.max(0, this.expectedOpens.indexOf(url));
    const [expected = ''] = this.expectedOpens.splice(index, 1);
    if (this.opened.length < maxNotes) this.opened.push({ entry, url: url === '' ? expected : url });
  }
}
