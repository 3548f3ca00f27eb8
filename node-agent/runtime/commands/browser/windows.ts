import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { background } from '../../background.ts';
import type { RunPages } from './run-pages.ts';

/** Pages that Chromium shows in its own user interface. */
const browserInterface = /^chrome:\/\/[^/]+\.top-chrome\//;

interface WindowsOptions {
  /** The runs of the open pages, by target ID. Resolves after the commands that are opening pages have opened them. */
  runsByTarget: () => Promise<Map<string, RunPages>>;
  /** Whether a run may open another page. */
  hasCapacity: (pages: RunPages) => boolean;
}

/** A target of the DevTools protocol, of type page. */
interface PageTarget {
  id: string;
  url: string;
  openerId: string | undefined;
}

/**
 * The windows of a browser that Playwright does not report yet. Playwright reports a window only after its first
 * navigation commits, so it never reports a window whose server responds with HTTP 204 or not at all. An unreported
 * window belongs to the run of its opener while the opener is open. When the opener closes, Chromium names the opener
 * of the opener instead, if there is one.
 */
export class Windows {
  readonly #session: CDPSession;
  readonly #startTargetId: string;
  readonly #options: WindowsOptions;
  /** The runs of the windows, by target ID. */
  #owned = new Map<string, RunPages>();
  #isChecking = false;
  #needsCheck = false;

  private constructor(session: CDPSession, startTargetId: string, options: WindowsOptions) {
    this.#session = session;
    this.#startTargetId = startTargetId;
    this.#options = options;
  }

  /** Watches the windows of a browser, and closes those that belong to no run or exceed a limit. */
  static async watch(context: BrowserContext, startPage: Page, options: WindowsOptions): Promise<Windows> {
    const session = await context.browser()?.newBrowserCDPSession();
    if (session === undefined) throw new Error('The browser has no DevTools session.');
    const startTargetId = await targetIdOf(await context.newCDPSession(startPage));
    const windows = new Windows(session, startTargetId, options);
    session.on('Target.targetCreated', ({ targetInfo }) => {
      if (targetInfo.type === 'page') windows.check();
    });
    session.on('Target.targetDestroyed', () => windows.check());
    await session.send('Target.setDiscoverTargets', { discover: true });
    return windows;
  }

  /** The number of windows of a run, or of all runs. */
  count(pages?: RunPages): number {
    if (pages === undefined) return this.#owned.size;
    return [...this.#owned.values()].filter((owner) => owner === pages).length;
  }

  /** Removes a window that is now counted as a page of its run. */
  remove(targetId: string): void {
    this.#owned.delete(targetId);
  }

  /** Addresses of pages and windows that belong to no run. */
  async unowned(): Promise<string[]> {
    const { targets, runOf } = await this.#list();
    return targets.filter((target) => runOf(target) === null).map(({ url }) => url);
  }

  /** Closes the windows that belong to no run or exceed a limit. One check runs at a time. */
  check(): void {
    this.#needsCheck = true;
    if (!this.#isChecking) background(this.#checkWhileNeeded(), 'check of the windows of a browser');
  }

  async #checkWhileNeeded(): Promise<void> {
    this.#isChecking = true;
    while (this.#needsCheck) {
      this.#needsCheck = false;
      try {
        await this.#closeExcess();
      } catch {
        // The browser ended.
      }
    }
    this.#isChecking = false;
  }

  async #closeExcess(): Promise<void> {
    const { targets, runs, runOf } = await this.#list();
    const before = this.#owned;
    this.#owned = new Map();
    // Windows that were within the limits before come first, so that a new window does not displace them.
    for (const target of [
      ...targets.filter(({ id }) => before.has(id)),
      ...targets.filter(({ id }) => !before.has(id)),
    ]) {
      if (runs.has(target.id)) continue;
      const pages = runOf(target);
      if (pages !== null && this.#options.hasCapacity(pages)) this.#owned.set(target.id, pages);
      else this.#close(target.id).catch(() => undefined);
    }
  }

  /**
   * Resumes a window and closes it. Chromium pauses each new window until Playwright has prepared it. A window that
   * closes while it is paused leaves its opener paused for ever.
   */
  async #close(targetId: string): Promise<void> {
    const { sessionId } = await this.#session.send('Target.attachToTarget', { targetId });
    const message = JSON.stringify({ id: 1, method: 'Runtime.runIfWaitingForDebugger' });
    await this.#session.send('Target.sendMessageToTarget', { sessionId, message });
    await this.#session.send('Target.closeTarget', { targetId });
  }

  async #list() {
    const { targetInfos } = await this.#session.send('Target.getTargets');
    const targets = targetInfos
      // A target with a subtype is a part of another page, such as a prerendered document.
      .filter(({ type, subtype, url }) => type === 'page' && subtype === undefined && !browserInterface.test(url))
      .map(({ targetId, url, openerId }): PageTarget => ({ id: targetId, url, openerId }))
      .filter(({ id }) => id !== this.#startTargetId);
    const byId = new Map(targets.map((target) => [target.id, target]));
    const runs = await this.#options.runsByTarget();
    const runOf = ({ id, openerId }: PageTarget): RunPages | null => {
      const own = runs.get(id);
      if (own !== undefined) return own;
      const opener = openerId === undefined ? undefined : byId.get(openerId);
      return opener === undefined ? null : runOf(opener);
    };
    return { targets, runs, runOf };
  }
}

/** Returns the target ID of the page to which a session is attached. */
export async function targetIdOf(session: CDPSession): Promise<string> {
  const { targetInfo } = await session.send('Target.getTargetInfo');
  return targetInfo.targetId;
}
