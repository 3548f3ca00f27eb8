import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Response } from 'playwright-core';
import type { BrowserTarget } from '../../../shared/commands/browser-common.ts';
import { maxContentLength } from '../../../shared/commands/browser.ts';
import type { CommandInput, CommandReply, CommandType } from '../../../shared/commands/catalog.ts';
import { toStorableText } from '../../../shared/json.ts';
import { isDownloadLink } from './browser/downloads.ts';
import { evaluate } from './browser/evaluate.ts';
import { report, titleOf } from './browser/report.ts';
import type { PageReply } from './browser/report.ts';
import { pageOwnerOf } from './browser/run-pages.ts';
import type { OpenPage, RunPages } from './browser/run-pages.ts';
import { selectOptions } from './browser/select.ts';
import type { BrowserSession, PageChoice } from './browser/session.ts';
import { findTarget, isTimeout, waitForTarget, waitForText } from './browser/targets.ts';
import { readSharedFile } from './files.ts';
import { CommandError } from './handler.ts';
import type { CommandContext, CommandHandlers } from './handler.ts';
import { imageSize } from './image-size.ts';
import { assertReceivesDownloads } from './save-file.ts';

type BrowserCommand = Extract<CommandType, `browser.${string}`>;
/** Commands that act on one page and return its address and title. */
type PageCommand = Exclude<BrowserCommand, 'browser.pages' | 'browser.close' | 'browser.switch'>;

const defaultTimeoutMs = 30_000;
/** Total size limit of the files of one upload. They are sent to the browser from memory. */
const maxUploadBytes = 32 * 1024 * 1024;
const lookEveryMs = 50;
/** Time limit for reading the link of a clicked element. */
const readLinkMs = 2_000;

/** The work of a command on its page. Returns the outputs of the command without those of every browser command. */
type Work<Type extends PageCommand> = (
  entry: OpenPage,
  timeoutMs: number,
) => Promise<Omit<CommandReply<Type>, keyof PageReply>>;

/**
 * Drives the companion's browser.
 */
export function browserHandlers(session: BrowserSession): Pick<CommandHandlers, BrowserCommand> {
  const { openedMs } = session.limits;
  /** Runs one command on a page of its run. Converts errors of the driver to command errors that say what to do. */
  const on = async <Type extends PageCommand>(
    input: CommandInput<Type>,
    context: CommandContext,
    work: Work<Type>,
    choice: PageChoice = {},
  ): Promise<CommandReply<Type>> =>
    session.withPage(
      context.settings.browser,
      pageOwnerOf(context.origin),
      { ...choice, pageId: input.pageId, signal: context.signal },
      async (entry) => {
        const timeoutMs = input.timeoutMs ?? defaultTimeoutMs;
        const deadline = performance.now() + timeoutMs;
        entry.refused = null;
        entry.dialogs = 0;
        entry.pages.expectsDownload = false;
        entry.pages.policy = { answer: input.dialogs, promptText: input.promptText };
        try {
          const done = async () => {
            // Checked before the command acts on the page: a refused folder must not fail a command after its click.
            if (input.saveDownloadsTo !== undefined) await assertReceivesDownloads(input.saveDownloadsTo, context);
            const reply = await work(entry, timeoutMs);
            return {
              ...(await report(entry, context, { deadline, openedMs, saveTo: input.saveDownloadsTo })),
              ...reply,
            };
          };
          const reply = await untilAborted(done(), context.signal);
          if (entry.closedWhy !== null) throw entry.pages.closed(entry.id);
          // A click or a script may have navigated to a host that the owner does not allow.
          if (entry.refused !== null) throw new CommandError('denied_by_policy', `${String(entry.refused)}.`);
          return reply as unknown as CommandReply<Type>;
        } catch (error) {
          // The reason of the abort takes precedence over its effect on the page.
          if (context.signal.aborted) throw context.signal.reason as Error;
          throw explain(error, entry, timeoutMs);
        } finally {
          entry.pages.policy = { answer: undefined, promptText: undefined };
        }
      },
    );
  const find = ({ page }: OpenPage, target: BrowserTarget, timeoutMs: number) => findTarget(page, target, timeoutMs);
  const pagesOf = (context: CommandContext) => session.pagesOf(pageOwnerOf(context.origin));

  return {
    'browser.navigate': (input, context) =>
      on<'browser.navigate'>(
        input,
        context,
        async (entry, timeout) => {
          const { url, waitUntil } = input;
          const response = await load(entry, session, url, () => entry.page.goto(url, { waitUntil, timeout }));
          return { status: response?.status() ?? null };
        },
        { newPage: input.newPage, opens: true },
      ),

    'browser.back': (input, context) =>
      on<'browser.back'>(input, context, async (entry, timeout) => {
        const before = entry.page.url();
        const response = await entry.page.goBack({ waitUntil: input.waitUntil, timeout });
        if (response === null && entry.page.url() === before)
          throw new CommandError('navigation_failed', 'The history has no page before this one.');
        return { status: response?.status() ?? null };
      }),

    'browser.reload': (input, context) =>
      on<'browser.reload'>(input, context, async (entry, timeout) => {
        const { waitUntil } = input;
        const response = await load(entry, session, entry.page.url(), () => entry.page.reload({ waitUntil, timeout }));
        return { status: response?.status() ?? null };
      }),

    'browser.screenshot': (input, context) =>
      on<'browser.screenshot'>(input, context, async (entry, timeout) => {
        const options = {
          type: input.format,
          timeout,
          ...(input.format === 'jpeg' ? { quality: input.quality } : {}),
        } as const;
        const content =
          input.target === undefined
            ? await entry.page.screenshot({ ...options, fullPage: input.fullPage })
            : await (await find(entry, input.target, timeout)).screenshot(options);
        const contentType = `image/${input.format}`;
        const name = input.format === 'png' ? 'page.png' : 'page.jpg';
        context.attach({ name, contentType, content });
        const { width, height } = (await imageSize(content)) as { width: number; height: number };
        return { artifact: name, contentType, bytes: content.length, width, height };
      }),

    'browser.click': (input, context) =>
      on<'browser.click'>(input, context, async (entry, timeout) => {
        const { button, clickCount } = input;
        const { signal } = context;
        const element = await find(entry, input.target, timeout);
        if (button !== 'right' && (await startsDownload(element, signal))) entry.pages.expectsDownload = true;
        await element.click({ button, clickCount, timeout, signal });
        return {};
      }),

    'browser.type': (input, context) =>
      on<'browser.type'>(input, context, async (entry, timeout) => {
        const field = await find(entry, input.target, timeout);
        await field.fill(input.text, { timeout, signal: context.signal });
        if (input.submit) await field.press('Enter', { timeout, signal: context.signal });
        return {};
      }),

    'browser.select': (input, context) =>
      on<'browser.select'>(input, context, async (entry, timeout) => {
        const field = await find(entry, input.target, timeout);
        return { selected: await selectOptions(field, input.options, timeout, context.signal) };
      }),

    'browser.check': (input, context) =>
      on<'browser.check'>(input, context, async (entry, timeout) => {
        await (await find(entry, input.target, timeout)).setChecked(input.checked, { timeout, signal: context.signal });
        return {};
      }),

    'browser.press': (input, context) =>
      on<'browser.press'>(input, context, async (entry, timeout) => {
        if (input.target === undefined) await entry.page.keyboard.press(input.key);
        else await (await find(entry, input.target, timeout)).press(input.key, { timeout, signal: context.signal });
        return {};
      }),

    'browser.hover': (input, context) =>
      on<'browser.hover'>(input, context, async (entry, timeout) => {
        await (await find(entry, input.target, timeout)).hover({ timeout, signal: context.signal });
        return {};
      }),

    'browser.scroll': (input, context) =>
      on<'browser.scroll'>(input, context, async (entry, timeout) => {
        const { target, x = 0, y = 0 } = input;
        if (target === undefined) {
          await entry.page.evaluate(`scrollBy({ left: ${x}, top: ${y}, behavior: 'instant' })`);
          return {};
        }
        const element = await find(entry, target, timeout);
        if (x === 0 && y === 0) await element.scrollIntoViewIfNeeded({ timeout });
        else await element.evaluate((node, by) => node.scrollBy({ ...by, behavior: 'instant' }), { left: x, top: y });
        return {};
      }),

    'browser.upload': (input, context) =>
      on<'browser.upload'>(input, context, async (entry, timeout) => {
        const field = await find(entry, input.target, timeout);
        const files: { name: string; mimeType: string; buffer: Buffer }[] = [];
        let bytes = 0;
        for (const file of input.files) {
          const left = maxUploadBytes - bytes;
          const { name, content, contentType } =
            'path' in file
              ? { ...(await readSharedFile(file.path, left, context)), contentType: 'application/octet-stream' }
              : await context.readArtifact(file.artifactId, left);
          bytes += content.length;
          files.push({ name: entry.pages.originalNameOf(name), mimeType: contentType, buffer: content });
        }
        await field.setInputFiles(files, { timeout, signal: context.signal });
        return {};
      }),

    'browser.wait_for': (input, context) =>
      on<'browser.wait_for'>(input, context, async (entry, timeoutMs) => {
        await waitFor(entry, input, timeoutMs, context.signal);
        return {};
      }),

    'browser.evaluate': (input, context) =>
      on<'browser.evaluate'>(input, context, async (entry, timeoutMs) => ({
        value: await evaluate(entry.page, input.expression, timeoutMs),
      })),

    'browser.content': (input, context) =>
      on<'browser.content'>(input, context, async (entry, timeout) => {
        const { page } = entry;
        const text = await page.locator('body').innerText({ timeout });
        const snapshot = await page.ariaSnapshot({ mode: 'ai', timeout });
        const html = input.includeHtml ? await page.content() : undefined;
        const cut = (value: string) => toStorableText(value).slice(0, maxContentLength).toWellFormed();
        const truncated = [text, snapshot, html ?? ''].some((value) => value.length > maxContentLength);
        return {
          text: cut(text),
          snapshot: cut(snapshot),
          ...(html === undefined ? {} : { html: cut(html) }),
          truncated,
        };
      }),

    'browser.pages': async (_input, context) => ({ pages: await listPages(pagesOf(context)) }),

    'browser.switch': (input, context) =>
      session.withPage(context.settings.browser, pageOwnerOf(context.origin), input, async (entry) => {
        await entry.page.bringToFront().catch(() => undefined);
        return report(entry, context, { deadline: performance.now(), openedMs, saveTo: undefined });
      }),

    'browser.close': async (input, context) => {
      const owner = pageOwnerOf(context.origin);
      const pages = session.pagesOf(owner);
      const entry = input.pageId === undefined ? pages.current : session.find(owner, input.pageId);
      if (entry === null) throw pages.closed();
      const wasCurrent = pages.current === entry;
      await session.close(entry, 'browser.close closed it');
      const last = [...pages.open.values()].toSorted((one, other) => other.usedAt - one.usedAt)[0];
      if (wasCurrent && last !== undefined) pages.makeCurrent(last);
      return { pageId: entry.id, pages: await listPages(pages) };
    },
  };
}

/** Whether a click on an element downloads the address of its link. False if the page does not answer in time. */
async function startsDownload(element: Locator, signal: AbortSignal): Promise<boolean> {
  // The options of `evaluate` bound the search for the element, but not the function in a busy page.
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(readLinkMs)]);
  try {
    return await untilAborted(element.evaluate(isDownloadLink, undefined, { timeout: readLinkMs }), bounded);
  } catch {
    // The click reports the problem of the element.
    return false;
  }
}

async function listPages(pages: RunPages) {
  return Promise.all(
    [...pages.open.values()].map(async (entry) => ({
      pageId: entry.id,
      url: toStorableText(entry.page.url()).slice(0, 16_384),
      title: await titleOf(entry.page),
      current: entry === pages.current,
    })),
  );
}

/**
 * Loads a document. The error page of an earlier refused navigation may still be loading and interrupt this navigation.
 * Then the navigation is tried again, up to four times in total. Returns null for an address that is downloaded.
 */
async function load(
  entry: OpenPage,
  session: BrowserSession,
  url: string,
  go: () => Promise<Response | null>,
): Promise<Response | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await go();
    } catch (error) {
      const { message } = error as Error;
      if (/Download is starting/.test(message)) return null;
      const isInterrupted =
        /interrupted by another navigation|net::ERR_ABORTED/.test(message) && entry.refused === null;
      if (isInterrupted && attempt < 4 && entry.closedWhy === null) {
        await delay(100 * attempt);
        continue;
      }
      const problem = /net::/.test(message) ? session.problemOf(url) : null;
      if (problem === null || entry.refused !== null) throw error;
      throw new CommandError(
        problem.isRefused ? 'denied_by_policy' : 'navigation_failed',
        `${problem.message}.`.slice(0, 1000),
        { cause: error },
      );
    }
  }
}

async function waitFor(
  { page, pages }: OpenPage,
  input: CommandInput<'browser.wait_for'>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { target, state, text, url, load: loadState, download, opened } = input;
  if ([target, text, url, loadState, download, opened].every((given) => given === undefined))
    throw new CommandError(
      'invalid_input',
      'input must name what to wait for: target, text, url, load, download or opened.',
    );
  const deadline = performance.now() + timeoutMs;
  const left = () => Math.max(1, Math.round(deadline - performance.now()));
  const until = async (what: string, holds: () => boolean) => {
    while (!holds()) {
      if (performance.now() >= deadline) throw new CommandError('timeout', `${what} within ${timeoutMs} ms.`);
      await delay(lookEveryMs, undefined, { signal });
    }
  };
  if (loadState !== undefined) await page.waitForLoadState(loadState, { timeout: left() });
  if (url !== undefined) await page.waitForURL(url, { timeout: left(), waitUntil: 'commit' });
  if (target !== undefined) await waitForTarget(page, target, state, left());
  if (text !== undefined) await waitForText(page, text, left());
  if (opened === true) await until('No page was opened', () => pages.opened.length > 0);
  if (download === true)
    await until('No download ended', () => pages.downloads.some(({ state: is }) => is !== 'running'));
}

async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    aborted.promise.catch(() => undefined);
  }
}

function explain(error: unknown, entry: OpenPage, timeoutMs: number): unknown {
  if (entry.refused !== null) return new CommandError('denied_by_policy', `${entry.refused}.`, { cause: error });
  if (entry.closedWhy !== null) return entry.pages.closed(entry.id);
  if (error instanceof CommandError || !(error instanceof Error)) return error;
  const [first = ''] = error.message.replace(/^[a-z]+\.[a-zA-Z]+: /, '').split('\n');
  if (isTimeout(error))
    return new CommandError(
      'timeout',
      `The page did not finish within ${timeoutMs} ms. Raise timeoutMs and timeoutSeconds of the step.${/^Timeout \d+ms exceeded\.?$/.test(first) ? '' : ` ${first.slice(0, 300)}`}`,
      { cause: error },
    );
  if (/strict mode violation/.test(error.message))
    return new CommandError('target_not_found', first.slice(0, 500), { cause: error });
  if (/net::|ERR_|NS_ERROR|Navigation failed|interrupted by another navigation/.test(error.message))
    return new CommandError('navigation_failed', first.slice(0, 500), { cause: error });
  if (/Target page, context or browser has been closed|crashed/.test(error.message))
    return new CommandError(
      'page_closed',
      'The page was closed while the command ran; open it again with browser.navigate.',
      {
        cause: error,
      },
    );
  if (/Unknown key/.test(error.message))
    return new CommandError('invalid_input', `input.key can't be used: ${first.slice(0, 300)}`, { cause: error });
  if (/selector|Unexpected token|Unknown engine/i.test(error.message))
    return new CommandError('invalid_input', `The selector can't be used: ${first.slice(0, 300)}`, { cause: error });
  return new CommandError('failed', first.slice(0, 500), { cause: error });
}
