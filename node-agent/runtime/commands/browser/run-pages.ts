import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { maxNotes } from '../../../../shared/commands/browser-common.ts';
import type { CommandOrigin } from '../../../../shared/commands/origin.ts';
import { CommandError } from '../handler.ts';
import type { PendingDownload } from './downloads.ts';

/** Whose pages these are: those of a run, or those of the direct calls of one caller. */
export interface PageOwner {
  key: string;
  /** The run whose end closes the pages; null for pages that only the idle limit closes. */
  runId: string | null;
}

/**
 * The owner of the pages that a command may use. A workflow's run has pages of its own. A direct call of a skill is a run of one step, so the
 * pages of direct calls belong to the user or API key that makes them. A hub that does not send an origin has one set of pages for all.
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
  /** The page that opened it, if a page did. */
  opener: OpenPage | null;
  usedAt: number;
  /** Commands that act on it now. */
  busy: number;
  /** The last address that was refused to it, until a command reports it. */
  refused: string | null;
  /** Why it was closed, once it was closed for a reason of the companion's. */
  closedWhy: string | null;
  /** When it showed dialogs, in the milliseconds of `performance.now()`. */
  dialogTimes: number[];
  /** Its target of the DevTools protocol; null until `identified` resolves, or if the page closes before. */
  targetId: string | null;
  identified: Promise<void>;
  /** Resolves once windows that it opens are noticed. */
  ready: Promise<void>;
  /** Dialogs since its last command began. */
  dialogs: number;
}

export interface DialogNote {
  type: string;
  message: string;
  answer: 'accepted' | 'dismissed';
}

/** How dialogs are answered while a command runs. */
export interface DialogPolicy {
  answer: 'accept' | 'dismiss' | undefined;
  promptText: string | undefined;
}

/** Pages of one run, at most. */
export const maxPagesOfRun = 10;
/** Closed pages of which the reason is kept, for each run. */
const maxCloseReasons = 50;
/** Characters of an address that are kept for a window that is expected. */
const maxUrlLength = 16_384;
/** Downloads of which the file name is kept, for each run. */
const maxDownloadNames = 200;

/** The pages of one owner, and what happened on them since the last command. */
export class RunPages {
  readonly owner: PageOwner;
  readonly open = new Map<string, OpenPage>();
  /** The page that commands without a `pageId` act on. */
  current: OpenPage | null = null;
  /** Why the current page is gone, until a page becomes the current one. */
  currentCloseReason: string | null = null;
  policy: DialogPolicy = { answer: undefined, promptText: undefined };
  dialogs: DialogNote[] = [];
  /** Addresses of windows that pages asked for, which the browser may not have opened yet. */
  expectedOpens: string[] = [];
  opened: { entry: OpenPage | null; url: string }[] = [];
  downloads: PendingDownload[] = [];
  /** Whether a page began a download that the browser has not reported yet. */
  expectsDownload = false;
  touchedAt = performance.now();
  readonly #reasons = new Map<string, string>();
  /** The file name of each download, by the name of its artefact. */
  readonly #downloadNames = new Map<string, string>();

  constructor(owner: PageOwner) {
    this.owner = owner;
  }

  add(page: Page, opener: OpenPage | null): OpenPage {
    const entry: OpenPage = {
      // Random, so that an id from before a restart of the companion never names another page.
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

  /** Names the artefact of a download: plain letters, and different from the others of the command. */
  nameArtifact(name: string, number: number): string {
    const artifact = `download-${number}-${name.replaceAll(/[^A-Za-z0-9._-]+/g, '_').slice(-150)}`;
    this.#downloadNames.set(artifact, name);
    const [oldest] = this.#downloadNames.keys();
    if (this.#downloadNames.size > maxDownloadNames && oldest !== undefined) this.#downloadNames.delete(oldest);
    return artifact;
  }

  /** The file name of a download whose artefact has a name; for another artefact its own name. */
  originalNameOf(artifact: string): string {
    // After a restart only the artefact's name is known.
    return this.#downloadNames.get(artifact) ?? artifact.replace(/^download-\d+-/, '');
  }

  makeCurrent(entry: OpenPage): void {
    this.current = entry;
    this.currentCloseReason = null;
  }

  /** Forgets a page that is gone. */
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
    // A popup that is done closes itself, and its opener goes on.
    if (entry.closedWhy === null && opener !== null && this.open.has(opener.id)) this.makeCurrent(opener);
    else this.currentCloseReason = `${entry.id} is closed: ${why}`;
  }

  /** Why a page can't be used that is not open. */
  closed(pageId?: string): CommandError {
    const reason = pageId === undefined ? undefined : this.#reasons.get(pageId);
    const message =
      pageId !== undefined
        ? `The page ${pageId} is not open${reason === undefined ? ': it was closed, or the companion was started again since' : `: ${reason}`}`
        : this.currentCloseReason !== null
          ? `The page ${this.currentCloseReason}`
          : 'There is no open page: this run opened none, or the companion or its browser was started again since';
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
