import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page, Request, Route } from 'playwright-core';
import type { LocalSettings } from '../../../../shared/companion/settings.ts';
import { CommandError } from '../handler.ts';
import { HostFilter } from './host-filter.ts';
import { launchBrowser, usableBrowser } from './launch.ts';
import { hasHostLists, navigationProblem } from './navigation-policy.ts';

const reapEveryMs = 1_000;
const maxPages = 20;
interface OpenPage {
  id: string;
  page: Page;
  usedAt: number;
  /** Commands that act on it now. */
  busy: number;
  /** The last address that was refused to it, until a command hears of it. */
  refused: string | null;
  /** Resolves once the owner's lists watch over the page. */
  guarded: Promise<void>;
}

/**
 * The companion's own browser: started by the first command, with a profile that stays; its pages are kept between commands and
 * closed when nobody used them for a while, and the browser with the last of them. Chromium listens on a pipe of ours, so it ends
 * with this process however that ends.
 */
export class BrowserSession implements AsyncDisposable {
  readonly #profile: string;
  #context: Promise<BrowserContext> | undefined;
  #pages = new Map<string, OpenPage>();
  #nextPage = 1;
  #settings: LocalSettings['browser'] | undefined;
  #reaper: NodeJS.Timeout | undefined;
  /** Through which everything goes while the owner limits the hosts. */
  #filter: HostFilter | undefined;

  constructor(profile: string) {
    this.#profile = profile;
  }

  /**
   * Lends a page to a command: the one it names, else the one used last, else a new one.
   * @throws CommandError `not_found` for a page that is closed, `tool_missing` without a browser.
   */
  async withPage<Result>(
    settings: LocalSettings['browser'],
    choice: { pageId?: string | undefined; newPage?: boolean },
    work: (entry: OpenPage) => Promise<Result>,
  ): Promise<Result> {
    const entry = await this.#choose(settings, choice);
    entry.busy += 1;
    try {
      await entry.guarded;
      return await work(entry);
    } finally {
      entry.busy -= 1;
      entry.usedAt = performance.now();
    }
  }

  /**
   * Puts changed settings in force for a browser that is open: one that is denied is closed, with it one that shows a denied host, or
   * that was started before its owner limited hosts. `onDenied` hears, before anything is closed, why commands under way must end.
   */
  async applySettings(settings: LocalSettings['browser'], onDenied: (reason: CommandError) => void): Promise<void> {
    const current = this.#settings;
    if (current === undefined || this.#context === undefined) return;
    const { allowHosts, blockHosts } = settings;
    if (settings.allowed) {
      if (JSON.stringify([allowHosts, blockHosts]) === JSON.stringify([current.allowHosts, current.blockHosts])) return;
      const shown = [...this.#pages.values()]
        .flatMap(({ page }) => page.frames().map((frame) => frame.url()))
        .filter((url) => /^https?:/.test(url));
      const problem = shown.map((url) => navigationProblem(url, settings)).find((found) => found !== null);
      if (problem === undefined && (this.#filter !== undefined || !hasHostLists(settings))) {
        this.#settings = { ...current, allowHosts, blockHosts };
        this.#filter?.recheck();
        return;
      }
      onDenied(
        new CommandError(
          'denied_by_device',
          `${problem ?? 'The owner of this machine limited the hosts of the browser'}; open the page again where it is allowed.`,
        ),
      );
    }
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#reaper);
    this.#reaper = undefined;
    const [context, filter] = [this.#context, this.#filter];
    this.#context = undefined;
    this.#filter = undefined;
    this.#pages.clear();
    await context?.then((open) => open.close()).catch(() => undefined);
    await filter?.[Symbol.asyncDispose]();
  }

  async #choose(
    settings: LocalSettings['browser'],
    { pageId, newPage = false }: { pageId?: string | undefined; newPage?: boolean },
  ): Promise<OpenPage> {
    const context = await this.#open(settings);
    if (pageId !== undefined) {
      const named = this.#pages.get(pageId);
      if (named === undefined)
        throw new CommandError(
          'not_found',
          `There is no page ${pageId}; it was closed, or idle for ${settings.idleSeconds} s. Open one with browser.navigate.`,
        );
      return named;
    }
    const latest = [...this.#pages.values()].toSorted((left, right) => right.usedAt - left.usedAt)[0];
    if (latest !== undefined && !newPage) return latest;
    if (this.#pages.size >= maxPages)
      throw new CommandError('failed', `${maxPages} pages are open; name one with pageId.`);
    return this.#adopt(await context.newPage());
  }

  async #open(settings: LocalSettings['browser']): Promise<BrowserContext> {
    // A changed list must hold for the pages that are open already.
    const changed = this.#settings !== undefined && JSON.stringify(this.#settings) !== JSON.stringify(settings);
    if (changed && this.#context !== undefined) await this[Symbol.asyncDispose]();
    this.#settings = settings;
    this.#context ??= this.#launch(settings);
    try {
      return await this.#context;
    } catch (error) {
      this.#context = undefined;
      throw error;
    }
  }

  async #launch(settings: LocalSettings['browser']): Promise<BrowserContext> {
    const executablePath = usableBrowser(settings);
    mkdirSync(this.#profile, { recursive: true, mode: 0o700 });
    // Playwright itself sees documents and some of what they load; the filter sees all that leaves.
    const filter = hasHostLists(settings)
      ? await HostFilter.listen((address) => navigationProblem(address, this.#settings ?? settings))
      : undefined;
    this.#filter = filter;
    let context: BrowserContext;
    try {
      context = await launchBrowser(this.#profile, executablePath, settings, filter?.url);
    } catch (error) {
      await filter?.[Symbol.asyncDispose]();
      this.#filter = undefined;
      throw error;
    }
    context.on('close', () => this.#forget(context));
    context.on('page', (page) => this.#adopt(page));
    // Playwright sees the first request of every page, also of one that a page opens; the rest is the work of `#guard`.
    if (hasHostLists(settings)) {
      await context.route('**/*', (route) =>
        this.#admit(route, this.#settings ?? settings).catch(() =>
          route.abort('blockedbyclient').catch(() => undefined),
        ),
      );
    }
    for (const page of context.pages()) this.#adopt(page);
    this.#reaper = setInterval(() => void this.#reap(), reapEveryMs);
    this.#reaper.unref();
    return context;
  }

  /** Lets a request of a page go, or not; one for a document only once the page has its guard, which sees where it is sent on to. */
  async #admit(route: Route, settings: LocalSettings['browser']): Promise<void> {
    const request = route.request();
    if (!request.isNavigationRequest()) {
      await route.continue();
      return;
    }
    const entry = await this.#entryOf(request);
    const problem = navigationProblem(request.url(), settings);
    if (problem === null) {
      await entry.guarded;
      await route.continue();
      return;
    }
    entry.refused = problem;
    // Who opened the page is who must hear of it.
    const opener = await entry.page.opener();
    if (opener !== null) this.#refuse(opener, problem);
    await route.abort('blockedbyclient');
  }

  /** The page of a request; that of a page which is just being opened takes a moment. @throws when there is none. */
  async #entryOf(request: Request): Promise<OpenPage> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return this.#adopt(request.frame().page());
      } catch (error) {
        if (attempt === 40) throw error;
        await delay(25);
      }
    }
  }

  #adopt(page: Page): OpenPage {
    const known = [...this.#pages.values()].find((entry) => entry.page === page);
    if (known !== undefined) return known;
    const entry: OpenPage = {
      id: `page-${this.#nextPage}`,
      page,
      usedAt: performance.now(),
      busy: 0,
      refused: null,
      guarded: Promise.resolve(),
    };
    this.#nextPage += 1;
    this.#pages.set(entry.id, entry);
    page.on('close', () => this.#pages.delete(entry.id));
    page.on('crash', () => this.#pages.delete(entry.id));
    // Who asks whether to leave a page would keep it for ever; whatever else is asked is answered with no.
    page.on(
      'dialog',
      (dialog) => void (dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss()).catch(() => undefined),
    );
    page.on('framenavigated', (frame) => {
      if (
        frame !== page.mainFrame() ||
        this.#settings === undefined ||
        frame.url() === 'about:blank' ||
        frame.url() === ''
      )
        return;
      if (frame.url().startsWith('chrome-error:')) return;
      const problem = navigationProblem(frame.url(), this.#settings);
      if (problem === null) return;
      this.#refuse(page, problem);
      void page.goto('about:blank').catch(() => undefined);
    });
    if (this.#settings !== undefined && hasHostLists(this.#settings))
      entry.guarded = this.#guard(entry, this.#settings);
    return entry;
  }

  /** Refuses documents before they are asked for, each hop of a redirect anew, which routes of Playwright do not see. */
  async #guard(entry: OpenPage, settings: LocalSettings['browser']): Promise<void> {
    try {
      const session = await entry.page.context().newCDPSession(entry.page);
      session.on('Fetch.requestPaused', ({ requestId, request }) => {
        const problem = navigationProblem(request.url, this.#settings ?? settings);
        if (problem !== null) this.#refuse(entry.page, problem);
        const answer =
          problem === null
            ? session.send('Fetch.continueRequest', { requestId })
            : session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
        answer.catch(() => undefined);
      });
      await session.send('Fetch.enable', {
        patterns: [{ urlPattern: '*', resourceType: 'Document', requestStage: 'Request' }],
      });
    } catch {
      // Without its guard a page is not let loose on the owner's lists.
      await entry.page.close().catch(() => undefined);
    }
  }

  #refuse(page: Page, problem: string): void {
    const entry = [...this.#pages.values()].find((candidate) => candidate.page === page);
    if (entry !== undefined) entry.refused = problem;
  }

  #forget(context: BrowserContext): void {
    void this.#context?.then((current) => {
      if (current !== context) return;
      this.#context = undefined;
      this.#pages.clear();
      clearInterval(this.#reaper);
      void this.#filter?.[Symbol.asyncDispose]();
      this.#filter = undefined;
    });
  }

  async #reap(): Promise<void> {
    const idleMs = (this.#settings?.idleSeconds ?? 300) * 1000;
    const now = performance.now();
    const idle = [...this.#pages.values()].filter((entry) => entry.busy === 0 && now - entry.usedAt > idleMs);
    if (idle.length > 0 && idle.length === this.#pages.size) {
      await this[Symbol.asyncDispose]();
      return;
    }
    await Promise.all(idle.map((entry) => entry.page.close().catch(() => undefined)));
  }
}

export type { OpenPage };
