import { setTimeout as delay } from 'node:timers/promises';
import type { Frame, FrameLocator, Locator, Page } from 'playwright-core';
import type { BrowserTarget } from '../../../../shared/commands/browser-common.ts';
import { CommandError } from '../handler.ts';

const pollIntervalMs = 100;

/**
 * Whether an error is a time-out of Playwright. Compares the name, so that Playwright is loaded only with a browser.
 */
export const isTimeout = (error: unknown) => error instanceof Error && error.name === 'TimeoutError';

/**
 * Waits until exactly one element matches a target.
 * @throws CommandError `target_not_found` if several elements match, or if none matches before the time-out.
 */
export async function findTarget(page: Page, target: BrowserTarget, timeoutMs: number): Promise<Locator> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { locator, count } = await match(page, target);
    if (count === 1 && locator !== null) return locator;
    if (count > 1)
      throw new CommandError(
        'target_not_found',
        `${count} elements match ${JSON.stringify(target)}; name one of them, by role and name, by its frame or by its ref.`,
      );
    if (performance.now() >= deadline) throw notFound(target);
    await delay(Math.min(pollIntervalMs, Math.max(1, deadline - performance.now())));
  }
}

/** Waits until a target has a state. */
export async function waitForTarget(
  page: Page,
  target: BrowserTarget,
  state: 'visible' | 'hidden' | 'attached' | 'detached',
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { locator, count } = await match(page, target);
    const isVisible = count > 0 && (await locator?.first().isVisible()) === true;
    const isReached = { visible: isVisible, hidden: !isVisible, attached: count > 0, detached: count === 0 }[state];
    if (isReached) return;
    if (performance.now() >= deadline)
      throw new CommandError('timeout', `${JSON.stringify(target)} was not ${state} within ${timeoutMs} ms.`);
    await delay(Math.min(pollIntervalMs, Math.max(1, deadline - performance.now())));
  }
}

/** Waits until a frame of the page shows a text. */
export async function waitForText(page: Page, text: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    for (const frame of page.frames()) {
      const shown = frame.getByText(text).filter({ visible: true });
      if ((await countOf(shown)) > 0) return;
    }
    if (performance.now() >= deadline)
      throw new CommandError('timeout', `The page did not show ${JSON.stringify(text)} within ${timeoutMs} ms.`);
    await delay(Math.min(pollIntervalMs, Math.max(1, deadline - performance.now())));
  }
}

interface TargetMatch {
  locator: Locator | null;
  count: number;
}

/** Counts the elements that match a target now. Frames are searched only if nothing in the page itself matches. */
async function match(page: Page, target: BrowserTarget): Promise<TargetMatch> {
  if ('ref' in target) {
    const locator = page.getByRef(target.ref);
    return { locator, count: await countOf(locator) };
  }
  if (target.frame !== undefined) {
    const owners = page.locator(`css=${target.frame}`);
    const frames = await countOf(owners);
    if (frames > 1)
      throw new CommandError(
        'target_not_found',
        `${frames} elements match the frame ${JSON.stringify(target.frame)}; name one of them.`,
      );
    if (frames === 0) return { locator: null, count: 0 };
    const locator = locate(page.frameLocator(`css=${target.frame}`), target);
    return { locator, count: await countOf(locator) };
  }
  const main = locate(page.mainFrame(), target);
  const inPage = await countOf(main);
  if (inPage > 0) return { locator: main, count: inPage };
  let matches: TargetMatch = { locator: null, count: 0 };
  for (const frame of page.frames()) {
    if (frame === page.mainFrame()) continue;
    const locator = locate(frame, target);
    const count = await countOf(locator);
    if (count > 0) matches = { locator: matches.locator ?? locator, count: matches.count + count };
  }
  return matches;
}

/**
 * Counts the matching elements. A frame that navigates or was removed has none.
 * @throws for a selector that is not valid.
 */
async function countOf(locator: Locator): Promise<number> {
  try {
    return await locator.count();
  } catch (error) {
    const { message } = error as Error;
    if (
      /Execution context was destroyed|Frame was detached|navigat|No element|Invalid ref|stale|not found/i.test(message)
    )
      return 0;
    throw error;
  }
}

function notFound(target: BrowserTarget): CommandError {
  const remedy =
    'ref' in target
      ? 'refs change with the page: read browser.content again'
      : 'look at the snapshot of browser.content';
  return new CommandError('target_not_found', `Nothing on the page matches ${JSON.stringify(target)}; ${remedy}.`);
}

function locate(root: Frame | FrameLocator, target: Exclude<BrowserTarget, { ref: string }>): Locator {
  if ('role' in target)
    return root.getByRole(
      target.role as Parameters<Page['getByRole']>[0],
      target.name === undefined ? {} : { name: target.name, exact: true },
    );
  if ('text' in target) return root.getByText(target.text, { exact: true });
  // The prefix `css=` excludes the other selector engines of Playwright, such as XPath.
  return root.locator(`css=${target.selector}`);
}
