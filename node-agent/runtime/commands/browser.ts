import { setTimeout as delay } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { maxContentLength, maxEvaluateBytes } from '../../../shared/commands/browser.ts';
import type { BrowserTarget } from '../../../shared/commands/browser.ts';
import type { CommandInput, CommandReply, CommandType } from '../../../shared/commands/catalog.ts';
import { toStorableJson, toStorableText } from '../../../shared/json.ts';
import type { BrowserSession, OpenPage } from './browser/session.ts';
import { CommandError } from './handler.ts';
import type { CommandContext, CommandHandlers } from './handler.ts';
import { imageSize } from './image-size.ts';

type BrowserCommand = Extract<CommandType, `browser.${string}`>;

const defaultTimeoutMs = 30_000;
/** How long a busy page may take to notice that its script is to end, in milliseconds. */
const terminateMs = 2_000;

/** Drives the companion's browser. */
export function browserHandlers(session: BrowserSession): Pick<CommandHandlers, BrowserCommand> {
  /** Runs one command on its page, its errors turned into ones that say what to do. */
  const on = async <Type extends BrowserCommand>(
    input: CommandInput<Type>,
    context: CommandContext,
    work: (entry: OpenPage, timeoutMs: number) => Promise<CommandReply<Type>>,
    newPage = false,
  ): Promise<CommandReply<Type>> =>
    session.withPage(context.settings.browser, { pageId: input.pageId, newPage }, async (entry) => {
      const timeoutMs = input.timeoutMs ?? defaultTimeoutMs;
      entry.refused = null;
      try {
        const reply = await untilAborted(work(entry, timeoutMs), context.signal);
        // A click or a script may have asked for a page that its owner does not allow.
        if (entry.refused !== null) throw new CommandError('denied_by_policy', `${String(entry.refused)}.`);
        return reply;
      } catch (error) {
        throw explain(error, entry, timeoutMs);
      }
    });

  return {
    'browser.navigate': (input, context) =>
      on<'browser.navigate'>(
        input,
        context,
        async (entry, timeout) => {
          const response = await openPage(entry, input.url, { waitUntil: input.waitUntil, timeout });
          return { ...(await where(entry)), status: response?.status() ?? null };
        },
        input.newPage,
      ),

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
            : await (await one(entry.page, input.target, timeout)).screenshot(options);
        const contentType = `image/${input.format}`;
        const name = input.format === 'png' ? 'page.png' : 'page.jpg';
        context.attach({ name, contentType, content });
        const { width, height } = (await imageSize(content)) as { width: number; height: number };
        return { artifact: name, contentType, bytes: content.length, width, height, ...(await where(entry)) };
      }),

    'browser.click': (input, context) =>
      on<'browser.click'>(input, context, async (entry, timeout) => {
        await (
          await one(entry.page, input.target, timeout)
        ).click({ button: input.button, clickCount: input.clickCount, timeout });
        return where(entry);
      }),

    'browser.type': (input, context) =>
      on<'browser.type'>(input, context, async (entry, timeout) => {
        const field = await one(entry.page, input.target, timeout);
        await field.fill(input.text, { timeout });
        if (input.submit) await field.press('Enter', { timeout });
        return where(entry);
      }),

    'browser.evaluate': (input, context) =>
      on<'browser.evaluate'>(input, context, async (entry, timeoutMs) => ({
        value: await evaluate(entry.page, input.expression, timeoutMs),
        ...(await where(entry)),
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
          ...(await where(entry)),
          text: cut(text),
          snapshot: cut(snapshot),
          ...(html === undefined ? {} : { html: cut(html) }),
          truncated,
        };
      }),
  };
}

/**
 * Goes to an address. The error page of a navigation that was refused before may still be on its way, and would interrupt this one:
 * then it is tried again.
 */
async function openPage(
  entry: OpenPage,
  url: string,
  options: { waitUntil: 'commit' | 'domcontentloaded' | 'load'; timeout: number },
) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await entry.page.goto(url, options);
    } catch (error) {
      const isInterrupted =
        /interrupted by another navigation|net::ERR_ABORTED/.test((error as Error).message) && entry.refused === null;
      if (!isInterrupted || attempt === 4) throw error;
      await delay(100 * attempt);
    }
  }
}

async function where({ id, page }: OpenPage): Promise<{ pageId: string; url: string; title: string }> {
  // A page that navigates just now has no title yet.
  const title = await page.title().catch(() => '');
  return { pageId: id, url: toStorableText(page.url()).slice(0, 16_384), title: toStorableText(title).slice(0, 4096) };
}

/** The element that a target names; more than one is refused, since nobody said which. */
async function one(page: Page, target: BrowserTarget, timeoutMs: number): Promise<Locator> {
  const locator = locate(page, target);
  try {
    await locator.first().waitFor({ state: 'attached', timeout: timeoutMs });
  } catch (error) {
    const remedy =
      'ref' in target
        ? 'refs change with the page: read browser.content again'
        : 'look at the snapshot of browser.content';
    if (isTimeout(error) || /No element|not found|Invalid ref|stale/i.test((error as Error).message)) {
      throw new CommandError('target_not_found', `Nothing on the page matches ${JSON.stringify(target)}; ${remedy}.`, {
        cause: error,
      });
    }
    throw error;
  }
  const count = await locator.count();
  if (count > 1)
    throw new CommandError(
      'target_not_found',
      `${count} elements match ${JSON.stringify(target)}; name one of them, by role and name or by its ref.`,
    );
  return locator;
}

function locate(page: Page, target: BrowserTarget): Locator {
  if ('ref' in target) return page.getByRef(target.ref);
  if ('role' in target)
    return page.getByRole(
      target.role as Parameters<Page['getByRole']>[0],
      target.name === undefined ? {} : { name: target.name, exact: true },
    );
  if ('text' in target) return page.getByText(target.text, { exact: true });
  // `css=` keeps Playwright's other engines, such as xpath, out of reach.
  return page.locator(`css=${target.selector}`);
}

/** Evaluates an expression in the page and answers its JSON, bounded in time and size. */
async function evaluate(page: Page, expression: string, timeoutMs: number) {
  const script = `(async () => {
    const value = await (
${expression}
    );
    const text = JSON.stringify(value === undefined ? null : value);
    if (text === undefined) throw new Error('the value is not JSON');
    if (text.length > ${maxEvaluateBytes}) throw new Error('the value has ' + text.length + ' characters of JSON; ${maxEvaluateBytes} is the most');
    return text;
  })()`;
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), timeoutMs);
  const evaluation = page.evaluate(script) as Promise<string>;
  try {
    const text = await Promise.race([evaluation, late.promise]);
    if (text !== 'late') return toStorableJson(JSON.parse(text));
  } catch (error) {
    throw new CommandError(
      'evaluation_failed',
      (error as Error).message
        .replace(/^page\.evaluate: /, '')
        .split('\n')[0]
        ?.slice(0, 1000) ?? 'it failed',
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
  evaluation.catch(() => undefined);
  await terminate(page, evaluation);
  throw new CommandError('timeout', `The expression did not end within ${timeoutMs} ms.`);
}

/** Ends a script that keeps its page busy; a page that does not heed is closed. */
async function terminate(page: Page, evaluation: Promise<unknown>): Promise<void> {
  const stuck = Promise.withResolvers<'stuck'>();
  const timer = setTimeout(() => stuck.resolve('stuck'), terminateMs);
  const end = async () => {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.terminateExecution');
    await session.detach();
    await page.evaluate('1');
  };
  const outcome = await Promise.race([end().catch(() => 'stuck' as const), stuck.promise]);
  clearTimeout(timer);
  if (outcome === 'stuck') await page.close({ runBeforeUnload: false }).catch(() => undefined);
  evaluation.catch(() => undefined);
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

/** Whether Playwright waited in vain; by its name, so that nobody who opens no browser loads it. */
const isTimeout = (error: unknown) => error instanceof Error && error.name === 'TimeoutError';

function explain(error: unknown, entry: OpenPage, timeoutMs: number): unknown {
  if (entry.refused !== null) return new CommandError('denied_by_policy', `${entry.refused}.`, { cause: error });
  if (error instanceof CommandError || !(error instanceof Error)) return error;
  const [first = ''] = error.message.replace(/^[a-z]+\.[a-zA-Z]+: /, '').split('\n');
  if (isTimeout(error))
    return new CommandError('timeout', `The page did not get there within ${timeoutMs} ms: ${first.slice(0, 300)}`, {
      cause: error,
    });
  if (/strict mode violation/.test(error.message))
    return new CommandError('target_not_found', first.slice(0, 500), { cause: error });
  if (/net::|ERR_|NS_ERROR|Navigation failed|interrupted by another navigation/.test(error.message))
    return new CommandError('navigation_failed', first.slice(0, 500), { cause: error });
  if (/Target page, context or browser has been closed|crashed/.test(error.message))
    return new CommandError(
      'failed',
      'The page or the browser was closed under way; open it again with browser.navigate.',
      { cause: error },
    );
  if (/selector|Unexpected token|Unknown engine/i.test(error.message))
    return new CommandError('invalid_input', `The selector can't be used: ${first.slice(0, 300)}`, { cause: error });
  return new CommandError('failed', first.slice(0, 500), { cause: error });
}
