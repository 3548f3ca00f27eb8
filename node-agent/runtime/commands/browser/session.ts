import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { BrowserContext, CDPSession, Dialog, Download, Page, Request } from 'playwright-core';
import type { LocalSettings } from '../../../../shared/companion/settings.ts';
import { background } from '../../background.ts';
import { unlessAborted } from '../../until-aborted.ts';
import { CommandError } from '../handler.ts';
import { becomesDownload, Downloads, maxDownloadBytes, maxPendingDownloads } from './downloads.ts';
import { onDriverError } from './driver-errors.ts';
import { HostFilter } from './host-filter.ts';
import type { DestinationProblem } from './host-filter.ts';
import { navigationProblem } from './host-rules.ts';
import { killBrowserUntil, launchBrowser, storeProxyCredentials, usableBrowser } from './launch.ts';
import { maxPagesOfRun, RunPages } from './run-pages.ts';
import type { OpenPage, PageOwner } from './run-pages.ts';
import { targetIdOf, Windows } from './windows.ts';

/** Shortest time between two requests that store the credentials of the filter in a browser, in milliseconds. */
const credentialsIntervalMs = 1_000;
const reapIntervalMs = 1_000;
/** Limit of kept owners. Owners without pages are kept so that a command learns why its page was closed. */
const maxOwners = 200;
/** A page that shows this many dialogs in one second, or during one command, is closed. */
const maxDialogsPerSecond = 10;
const maxDialogsPerCommand = 50;

/** Resource limits of pages, and a wait time of commands. */
export interface BrowserLimits {
  /**
   * Bytes by which the heap of this process may grow while a browser is open. The driver keeps data that pages send,
   * such as console messages, and a full heap would end the companion.
   */
  maxHeapGrowthBytes: number;
  maxDownloadBytes: number;
  /**
   * Idle time-out of the pages of a run, in milliseconds. It counts from the last command on the page, or from the last
   * time that the hub confirmed the run as open.
   */
  runPageIdleMs: number;
  /** How long a command waits for windows and downloads that its page requested, in milliseconds. */
  openedMs: number;
}

const defaultLimits: BrowserLimits = {
  maxHeapGrowthBytes: Math.min(512 * 1024 * 1024, getHeapStatistics().heap_size_limit / 2),
  maxDownloadBytes,
  runPageIdleMs: 24 * 60 * 60 * 1000,
  openedMs: 5_000,
};

/** Time in which a denied browser can save its profile. A pause must end everything within 1 s. */
const denialGraceMs = 700;

type BrowserSettings = LocalSettings['browser'];

/** The page that a command uses. */
export interface PageChoice {
  pageId?: string | undefined;
  newPage?: boolean;
  /** Whether the command opens a page if the run has none. */
  opens?: boolean;
  /** No page is opened after the signal aborts. */
  signal?: AbortSignal;
}

/** An open browser with its filter, downloads and windows. */
interface RunningBrowser {
  /** Identifies the processes of the browser, see `killBrowser`. */
  launchId: string;
  context: BrowserContext;
  filter: HostFilter;
  downloads: Downloads;
  /** The empty page with which a browser starts. It stays open, because a headed browser ends without a page. */
  startPage: Page;
  windows: Windows;
  /** Handles errors that the browser driver throws, until disposed. */
  guard: Disposable;
  /** Heap use of this process at the start of the browser, in bytes. */
  heapBytes: number;
}

/**
 * The browser of the companion. The first command starts it, and its profile is kept. Pages belong to the run that
 * opened them and stay open until the run ends. Pages of direct calls are closed after the idle time-out, and so is the
 * browser when it has no pages. Chromium reads from a pipe of this process, so it ends when this process ends, even by
 * a kill.
 */
export class BrowserSession implements AsyncDisposable {
  readonly #profile: string;
  readonly limits: BrowserLimits;
  readonly #owners = new Map<string, RunPages>();
  #running: Promise<RunningBrowser> | undefined;
  /** Ends a browser that is starting. */
  #launching: AbortController | undefined;
  #settings: BrowserSettings | undefined;
  #filter: HostFilter | undefined;
  #windows: Windows | undefined;
  #reaper: NodeJS.Timeout | undefined;
  /** Pages that commands are opening. */
  readonly #openings = new Set<Promise<OpenPage>>();
  #usedAt = 0;
  #freeing: Promise<void> | undefined;
  /** Resolves when all stopped browsers have ended. Two browsers cannot use the same profile. */
  #stopped: Promise<unknown> = Promise.resolve();
  /** Queries the hub for ended runs and closes their pages. Called when the limit of pages is reached. */
  onFull: () => Promise<void> = async () => undefined;

  constructor(profile: string, limits: Partial<BrowserLimits> = {}) {
    this.#profile = profile;
    this.limits = { ...defaultLimits, ...limits };
  }

  /**
   * Calls `work` with a page: the page with `choice.pageId`, else the current page of the owner, else a new page if the
   * command opens pages.
   * @throws CommandError `page_closed`, `page_of_another_run`, `too_many_pages`; `tool_missing` without a browser.
   */
  async withPage<Result>(
    settings: BrowserSettings,
    owner: PageOwner,
    choice: PageChoice,
    work: (entry: OpenPage) => Promise<Result>,
  ): Promise<Result> {
    const entry = await this.#choose(settings, this.#pagesOf(owner), choice);
    entry.busy += 1;
    entry.pages.makeCurrent(entry);
    try {
      await entry.ready;
      return await work(entry);
    } finally {
      entry.busy -= 1;
      entry.usedAt = performance.now();
      entry.pages.touchedAt = entry.usedAt;
    }
  }

  /** The pages of an owner. */
  pagesOf(owner: PageOwner): RunPages {
    return this.#pagesOf(owner);
  }

  /** Returns a page of an owner by its ID. @throws CommandError `page_closed`, `page_of_another_run`. */
  find(owner: PageOwner, pageId: string): OpenPage {
    const pages = this.#pagesOf(owner);
    const entry = pages.open.get(pageId);
    if (entry !== undefined) return entry;
    if ([...this.#owners.values()].some(({ open }) => open.has(pageId)))
      throw new CommandError(
        'page_of_another_run',
        `The page ${pageId} belongs to another run. A run uses only pages that it opened; open one with browser.navigate.`,
      );
    throw pages.closed(pageId);
  }

  /** Closes a page. The next command on the page reports the reason. */
  async close(entry: OpenPage, why: string): Promise<void> {
    entry.closedWhy ??= why;
    entry.pages.remove(entry);
    await entry.page.close({ runBeforeUnload: false }).catch(() => undefined);
  }

  /** Why the last connection to the host of an address failed; null if it did not fail. */
  problemOf(address: string): DestinationProblem | null {
    return this.#filter?.problemOf(address) ?? null;
  }

  /** IDs of the runs that have pages or downloads. */
  get runIds(): string[] {
    return [...this.#owners.values()].flatMap(({ owner, open, downloads }) =>
      owner.runId !== null && open.size + downloads.length > 0 ? [owner.runId] : [],
    );
  }

  /** Restarts the idle time-out of the pages of runs that the hub confirmed as open. */
  confirmRuns(runIds: readonly string[]): void {
    for (const pages of this.#owners.values())
      if (pages.owner.runId !== null && runIds.includes(pages.owner.runId)) pages.confirmedAt = performance.now();
  }

  /** Closes the pages of ended runs. */
  async endRuns(runIds: readonly string[]): Promise<void> {
    const ended = [...this.#owners.values()].filter(
      ({ owner }) => owner.runId !== null && runIds.includes(owner.runId),
    );
    await Promise.all(ended.map((pages) => this.#endOwner(pages, 'its run is over')));
  }

  /**
   * Applies changed settings to an open browser. Closes the browser if it is denied, or if a page shows a host that is
   * now denied. In the second case, `onDenied` receives the reason for ending running commands before the browser is
   * closed.
   */
  async applySettings(settings: BrowserSettings, onDenied: (reason: CommandError) => void): Promise<void> {
    const current = this.#settings;
    if (current === undefined || this.#running === undefined) return;
    const { allowHosts, blockHosts, privateHosts } = settings;
    if (settings.allowed) {
      const rules = { allowHosts, blockHosts, privateHosts };
      const { allowHosts: allowed, blockHosts: blocked, privateHosts: named } = current;
      if (JSON.stringify(rules) === JSON.stringify({ allowHosts: allowed, blockHosts: blocked, privateHosts: named }))
        return;
      const problem = this.#entries()
        .flatMap(({ page }) => page.frames().map((frame) => frame.url()))
        .filter((url) => /^https?:/.test(url))
        .map((url) => navigationProblem(url, settings))
        .find((found) => found !== null);
      if (problem === undefined) {
        this.#settings = { ...current, ...rules };
        this.#filter?.recheck();
        return;
      }
      onDenied(new CommandError('denied_by_device', `${problem ?? ''}; open the page again where it is allowed.`));
    }
    await this.end("the owner's settings for the browser changed");
  }

  /** Ends a denied browser. Closes its connections immediately, and kills the browser if it does not end in time. */
  end(why: string): Promise<void> {
    return this.#stop(why, denialGraceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop('the companion closed its browser');
  }

  #entries(): OpenPage[] {
    return [...this.#owners.values()].flatMap(({ open }) => [...open.values()]);
  }

  #pagesOf(owner: PageOwner): RunPages {
    const pages = this.#owners.get(owner.key) ?? new RunPages(owner);
    this.#owners.delete(owner.key);
    this.#owners.set(owner.key, pages);
    for (const [key, { open, downloads }] of this.#owners) {
      if (this.#owners.size <= maxOwners) break;
      if (key !== owner.key && open.size + downloads.length === 0) this.#owners.delete(key);
    }
    return pages;
  }

  async #choose(settings: BrowserSettings, pages: RunPages, choice: PageChoice): Promise<OpenPage> {
    const { pageId, newPage = false, opens = false, signal } = choice;
    await this.#restartWhenChanged(settings);
    if (pageId !== undefined) return this.find(pages.owner, pageId);
    if (!newPage && pages.current !== null) return pages.current;
    if (!newPage && !opens) throw pages.closed();
    if (this.#limitProblem(pages, settings.maxPages) !== null) {
      // Pages of runs that ended since the last heartbeat are still open. This closes them.
      this.#freeing ??= this.onFull().finally(() => (this.#freeing = undefined));
      await this.#freeing;
    }
    const problem = this.#limitProblem(pages, settings.maxPages);
    if (problem !== null) throw new CommandError('too_many_pages', problem);
    const opening = this.#openPage(settings, pages.owner, signal);
    this.#openings.add(opening);
    try {
      return await opening;
    } finally {
      this.#openings.delete(opening);
      this.#usedAt = performance.now();
    }
  }

  async #openPage(settings: BrowserSettings, owner: PageOwner, signal?: AbortSignal): Promise<OpenPage> {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const opening = this.#open(settings);
      const running = this.#running;
      const browser = await unlessAborted(opening, signal);
      try {
        // If the browser is killed while it starts, `newPage` may never settle. The reaper closes a page that opens
        // later.
        const page = await unlessAborted(browser.context.newPage(), signal);
        // If the run has ended in the meantime, the next heartbeat closes the page.
        return this.#adopt(browser, page, this.#pagesOf(owner), null);
      } catch (error) {
        // A browser that is ending opens no further page.
        if (attempt === 2 || !/has been closed/.test((error as Error).message)) throw error;
        if (this.#running === running) await this.#stop('the browser ended');
      }
    }
  }

  /** Why a run cannot open another page, or null. @param windows Windows that count in addition to pages. */
  #limitProblem(pages: RunPages, maxPages: number, windows: Windows | null | undefined = this.#windows): string | null {
    if (pages.open.size + (windows?.count(pages) ?? 0) >= maxPagesOfRun)
      return `This run has ${maxPagesOfRun} open pages, which is the limit; close one with browser.close.`;
    if (this.#entries().length + this.#openings.size + (windows?.count() ?? 0) < maxPages) return null;
    return `${maxPages} pages of all runs are open, which is the limit of the owner of this machine; they are closed when their runs end. Retry later, or raise browser.maxPages in settings.json.`;
  }

  /** Stores new settings. Stops the running browser if it cannot apply them. */
  async #restartWhenChanged(settings: BrowserSettings): Promise<void> {
    const started = (from: BrowserSettings) => {
      const { headed, executablePath, withoutSandbox } = from;
      return JSON.stringify([headed, executablePath, withoutSandbox]);
    };
    const isChanged = this.#settings !== undefined && started(this.#settings) !== started(settings);
    if (isChanged && this.#running !== undefined) await this.#stop("the owner's settings for the browser changed");
    this.#settings = settings;
    this.#filter?.recheck();
  }

  async #open(settings: BrowserSettings): Promise<RunningBrowser> {
    this.#running ??= this.#launch(settings);
    const launched = this.#running;
    try {
      return await launched;
    } catch (error) {
      if (this.#running === launched) this.#running = undefined;
      throw error;
    }
  }

  async #launch(settings: BrowserSettings): Promise<RunningBrowser> {
    const launching = new AbortController();
    this.#launching = launching;
    try {
      return await this.#startBrowser(settings, launching.signal);
    } finally {
      if (this.#launching === launching) this.#launching = undefined;
    }
  }

  async #startBrowser(settings: BrowserSettings, signal: AbortSignal): Promise<RunningBrowser> {
    const executablePath = usableBrowser(settings);
    await this.#stopped;
    signal.throwIfAborted();
    mkdirSync(this.#profile, { recursive: true, mode: 0o700 });
    const filter = await HostFilter.listen(() => this.#settings ?? settings);
    let browser: RunningBrowser | undefined;
    const downloads = new Downloads(`${this.#profile}-downloads`, this.limits.maxDownloadBytes, () =>
      this.#failInBackground(browser, 'its pages downloaded more than the limit of the browser'),
    );
    const launchId = randomUUID();
    let context: BrowserContext | undefined;
    let startPage: Page;
    let windows: Windows;
    try {
      context = await launchBrowser(this.#profile, executablePath, settings, {
        launchId,
        filterUrl: filter.url,
        downloadsPath: downloads.folder,
        signal,
      });
      startPage = context.pages()[0] ?? (await unlessAborted(context.newPage(), signal));
      await unlessAborted(storeProxyCredentials(startPage, filter), signal);
      const watching = Windows.watch(context, startPage, {
        runsByTarget: () => this.#runsByTarget(),
        hasCapacity: (pages) => this.#limitProblem(pages, this.#settings?.maxPages ?? 1) === null,
      });
      windows = await unlessAborted(watching, signal);
      signal.throwIfAborted();
    } catch (error) {
      if (context !== undefined) await killBrowserUntil(launchId, context.close());
      downloads[Symbol.dispose]();
      await filter[Symbol.asyncDispose]();
      throw error;
    }
    this.#restoreCredentials(startPage, filter);
    this.#filter = filter;
    this.#windows = windows;
    const guard = onDriverError((error) => this.#failInBackground(browser, `the browser failed: ${error.message}`));
    const heapBytes = getHeapStatistics().used_heap_size;
    browser = { launchId, context, filter, downloads, startPage, windows, guard, heapBytes };
    context.on('close', () => background(this.#onBrowserEnd(browser), 'clean-up after a browser'));
    context.on('requestfailed', (request) => this.#noteFailedNavigation(request));
    context.on('page', (page) => {
      page.on('download', (download) => this.#isOfRun(page) || downloads.refuse(download));
      background(this.#closeUnowned(browser, page), 'closing a page');
    });
    clearInterval(this.#reaper);
    this.#reaper = setInterval(() => background(this.#reap(browser), 'check of idle pages'), reapIntervalMs);
    this.#reaper.unref();
    return browser;
  }

  /**
   * Makes the browser store the credentials of the filter again after it lost them, such as when its network process
   * crashed. Other users of the machine can cause this, too, so it happens at most once per interval.
   */
  #restoreCredentials(startPage: Page, filter: HostFilter): void {
    filter.onUnauthorized = () => {
      filter.onUnauthorized = () => undefined;
      const restored = storeProxyCredentials(startPage, filter).catch(() => undefined);
      const wait = () => setTimeout(() => this.#restoreCredentials(startPage, filter), credentialsIntervalMs).unref();
      background(restored.then(wait), 'storing the credentials of the browser');
    };
  }

  /** Addresses of pages and windows that belong to no run. */
  async unownedPages(): Promise<string[]> {
    const browser = await this.#running?.catch(() => undefined);
    if (browser === undefined) return [];
    const pages = browser.context.pages().filter((page) => page !== browser.startPage && !this.#isOfRun(page));
    return [...pages.map((page) => page.url()), ...(await browser.windows.unowned())];
  }

  #isOfRun(page: Page): boolean {
    return this.#entries().some((entry) => entry.page === page);
  }

  /** Closes a page that belongs to no run, such as a popup whose opener closed itself. */
  async #closeUnowned(browser: RunningBrowser, page: Page): Promise<void> {
    // Waits for commands that may be opening this page. A popup gets its run in the event that reports the popup.
    await Promise.allSettled(this.#openings);
    if (page === browser.startPage || page.isClosed() || this.#isOfRun(page)) return;
    await page.close({ runBeforeUnload: false }).catch(() => undefined);
  }

  /** The runs of the open pages, by target ID. Waits for pages that commands are opening. */
  async #runsByTarget(): Promise<Map<string, RunPages>> {
    await Promise.allSettled(this.#openings);
    let entries: OpenPage[];
    do {
      entries = this.#entries();
      await Promise.all(entries.map(({ identified }) => identified));
    } while (this.#entries().some((entry) => !entries.includes(entry)));
    return new Map(this.#entries().flatMap(({ targetId, pages }) => (targetId === null ? [] : [[targetId, pages]])));
  }

  #adopt(browser: RunningBrowser, page: Page, pages: RunPages, opener: OpenPage | null): OpenPage {
    const entry = pages.add(page, opener);
    browser.downloads.follow(page);
    page.on('close', () => pages.remove(entry));
    page.on('crash', () => background(this.close(entry, 'it crashed'), 'closing a page'));
    page.on('dialog', (dialog) => {
      this.#answerDialog(entry, dialog).catch(() => undefined);
    });
    page.on('download', (download) => this.#trackDownload(browser, entry, download));
    const session = page.context().newCDPSession(page);
    entry.identified = this.#identify(browser, entry, session).catch(() => undefined);
    // This fails if the page is already closed.
    entry.ready = watchWindowRequests(entry, session).catch(() => undefined);
    page.on('popup', (popup) => this.#adoptPopup(browser, popup, entry));
    return entry;
  }

  async #identify({ windows }: RunningBrowser, entry: OpenPage, session: Promise<CDPSession>): Promise<void> {
    entry.targetId = await targetIdOf(await session);
    windows.remove(entry.targetId);
  }

  #adoptPopup(browser: RunningBrowser, popup: Page, opener: OpenPage): void {
    const { pages } = opener;
    // Playwright also reports a window that closes before its first navigation commits.
    const isUsable = this.#isOfRun(opener.page) && !popup.isClosed();
    // The popup itself may still be counted as a window, so windows are not counted here.
    if (isUsable && this.#limitProblem(pages, this.#settings?.maxPages ?? 1, null) === null) {
      pages.noteOpened(this.#adopt(browser, popup, pages, opener), popup.url());
      return;
    }
    pages.noteOpened(null, popup.url());
    popup.close().catch(() => undefined);
  }

  #trackDownload(browser: RunningBrowser, { page, pages }: OpenPage, download: Download): void {
    if (!this.#isOfRun(page)) return;
    pages.expectsDownload = false;
    if (pages.downloads.length >= maxPendingDownloads) {
      browser.downloads.refuse(download);
      return;
    }
    pages.downloads.push(browser.downloads.track(download));
  }

  async #answerDialog(entry: OpenPage, dialog: Dialog): Promise<void> {
    const { policy } = entry.pages;
    const type = dialog.type();
    // Otherwise a page with a beforeunload dialog could never be left.
    const answer = policy.answer ?? (type === 'beforeunload' ? 'accept' : 'dismiss');
    const message = dialog.message().slice(0, 2000);
    entry.pages.noteDialog({ type, message, answer: answer === 'accept' ? 'accepted' : 'dismissed' });
    const now = performance.now();
    entry.dialogs += 1;
    entry.dialogTimes = [...entry.dialogTimes.filter((time) => now - time < 1_000), now];
    if (entry.dialogTimes.length >= maxDialogsPerSecond || entry.dialogs >= maxDialogsPerCommand) {
      await this.close(
        entry,
        `it showed too many dialogs (${entry.dialogs}); the last one says ${JSON.stringify(message.slice(0, 200))}`,
      );
      return;
    }
    await (answer === 'accept' ? dialog.accept(type === 'prompt' ? policy.promptText : undefined) : dialog.dismiss());
  }

  /**
   * Records a refused navigation on its page and on the page that opened it, or that a navigation becomes a download.
   */
  #noteFailedNavigation(request: Request): void {
    if (!request.isNavigationRequest()) return;
    const problem = this.problemOf(request.url());
    const isDownload = becomesDownload(request);
    if (problem?.isRefused !== true && !isDownload) return;
    // A request of a page that is still opening has no frame.
    let page: Page;
    try {
      if (request.frame().parentFrame() !== null) return;
      page = request.frame().page();
    } catch {
      return;
    }
    const entry = this.#entries().find((candidate) => candidate.page === page);
    if (entry === undefined) return;
    if (isDownload) entry.pages.expectsDownload = true;
    if (problem?.isRefused !== true) return;
    entry.refused = problem.message;
    if (entry.opener !== null) entry.opener.refused = problem.message;
  }

  async #endOwner(pages: RunPages, why: string): Promise<void> {
    this.#owners.delete(pages.owner.key);
    await Promise.all([
      ...[...pages.open.values()].map((entry) => this.close(entry, why)),
      ...pages.downloads.splice(0).map((download) => download.discard()),
    ]);
  }

  #failInBackground(browser: RunningBrowser | undefined, why: string): void {
    background(this.#fail(browser, why), 'end of a browser');
  }

  /** Kills a browser that failed or exceeded a limit. Does nothing if another browser has replaced it. */
  async #fail(browser: RunningBrowser | undefined, why: string): Promise<void> {
    const current = await this.#running?.catch(() => undefined);
    if (current !== undefined && current === browser) await this.#stop(why, 0);
  }

  /**
   * Closes the browser.
   * @param graceMs Time until the browser is killed. Its connections are closed first. A browser that fails, downloads
   *   endlessly or has a busy page can take 30 s to end. A browser that is still starting is killed immediately. Without
   *   this parameter the browser is not killed.
   */
  async #stop(why: string, graceMs?: number): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (graceMs !== undefined)
      this.#launching?.abort(new CommandError('failed', 'The browser was ended while it started.'));
    if (running !== undefined) this.#stopped = Promise.all([this.#stopped, this.#close(running, why, graceMs)]);
    await this.#stopped;
  }

  async #close(running: Promise<RunningBrowser>, why: string, graceMs: number | undefined): Promise<void> {
    const browser = await running.catch(() => undefined);
    if (browser === undefined) return;
    this.#removePages(why);
    if (graceMs !== undefined)
      background(browser.filter[Symbol.asyncDispose](), 'closing the connections of a browser');
    const closed = browser.context.close();
    await (graceMs === undefined ? closed.catch(() => undefined) : killBrowserUntil(browser.launchId, closed, graceMs));
    await this.#release(browser);
  }

  /** Releases the resources of a browser that ended by itself. */
  async #onBrowserEnd(browser: RunningBrowser): Promise<void> {
    const current = await this.#running?.catch(() => undefined);
    if (current !== browser) return;
    this.#running = undefined;
    this.#removePages('the browser ended');
    await this.#release(browser);
  }

  #removePages(why: string): void {
    for (const entry of this.#entries()) {
      entry.closedWhy ??= why;
      entry.pages.remove(entry);
    }
    for (const pages of this.#owners.values()) pages.downloads = [];
  }

  async #release(browser: RunningBrowser): Promise<void> {
    if (this.#filter === browser.filter) {
      this.#filter = undefined;
      this.#windows = undefined;
      clearInterval(this.#reaper);
      this.#reaper = undefined;
    }
    browser.guard[Symbol.dispose]();
    browser.downloads[Symbol.dispose]();
    await browser.filter[Symbol.asyncDispose]();
  }

  async #reap(browser: RunningBrowser): Promise<void> {
    if (getHeapStatistics().used_heap_size - browser.heapBytes > this.limits.maxHeapGrowthBytes) {
      await this.#fail(browser, 'its pages sent more data than the companion can read');
      return;
    }
    for (const page of browser.context.pages()) background(this.#closeUnowned(browser, page), 'closing a page');
    browser.windows.check();
    const idleSeconds = this.#settings?.idleSeconds ?? 300;
    const now = performance.now();
    const limitMs = ({ pages }: OpenPage) =>
      pages.owner.runId === null ? idleSeconds * 1000 : this.limits.runPageIdleMs;
    const idle = this.#entries().filter(
      (entry) => entry.busy === 0 && now - Math.max(entry.usedAt, entry.pages.confirmedAt) > limitMs(entry),
    );
    await Promise.all(
      idle.map((entry) => {
        const unconfirmed = entry.pages.owner.runId === null ? '' : ', and the hub did not confirm its run';
        return this.close(entry, `no command used it for ${Math.round(limitMs(entry) / 1000)} seconds${unconfirmed}`);
      }),
    );
    for (const pages of this.#owners.values())
      if (pages.open.size === 0 && now - pages.touchedAt > idleSeconds * 1000)
        for (const download of pages.downloads.splice(0)) background(download.discard(), 'removal of a download');
    if (idle.length > 0) this.#usedAt = now;
    const isEmpty = this.#entries().length === 0 && this.#openings.size === 0;
    if (!isEmpty) this.#usedAt = now;
    else if (now - this.#usedAt > idleSeconds * 1000) await this.#stop('the browser was idle');
  }
}

/** Observes requests of a page for new windows, so that a command can wait for the windows to open. */
async function watchWindowRequests({ pages }: OpenPage, opening: Promise<CDPSession>): Promise<void> {
  const session = await opening;
  session.on('Page.windowOpen', ({ url }) => pages.expectOpen(url));
  await session.send('Page.enable');
}

export type { OpenPage };
