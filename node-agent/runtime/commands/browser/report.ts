import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { z } from 'zod';
import { maxDownloadsPerCommand } from '../../../../shared/commands/browser-common.ts';
import type { pageReply } from '../../../../shared/commands/browser-common.ts';
import { toStorableText } from '../../../../shared/json.ts';
import type { CommandContext } from '../handler.ts';
import { saveIntoSharedFolder } from '../save-file.ts';
import type { OpenPage, RunPages } from './run-pages.ts';

/** The outputs that every browser command returns. */
export type PageReply = { [Field in keyof typeof pageReply]: z.output<(typeof pageReply)[Field]> };

const pollIntervalMs = 25;

/** Time limit for reading the title of a page that does not respond. */
const titleTimeoutMs = 5_000;

/** Returns the title of a page, or an empty text if the page does not respond or is navigating. */
export async function titleOf(page: Page): Promise<string> {
  const title = await Promise.race([page.title().catch(() => ''), delay(titleTimeoutMs, '', { ref: false })]);
  return toStorableText(title).slice(0, 4096);
}

const addressOf = (url: string) => toStorableText(url).slice(0, 16_384);

/**
 * Returns the address and title of a page, and the dialogs, opened pages and downloads of its run since the last
 * report. Waits up to `openedMs` for windows and downloads that a page has requested, and then for running downloads
 * until `deadline` (by `performance.now()`). A later command returns downloads that take longer. Downloads are also
 * saved in the shared folder `saveTo`.
 */
export async function report(
  entry: OpenPage,
  context: CommandContext,
  { deadline, openedMs, saveTo }: { deadline: number; openedMs: number; saveTo: string | undefined },
): Promise<PageReply> {
  const { id, page, pages } = entry;
  const remaining = (limitMs: number) => Math.max(1, Math.min(limitMs, deadline - performance.now()));
  const openDeadline = performance.now() + remaining(openedMs);
  const isExpecting = () => pages.expectedOpens.length > 0 || pages.expectsDownload;
  while (isExpecting() && performance.now() < openDeadline) await delay(pollIntervalMs);
  pages.expectedOpens = [];
  pages.expectsDownload = false;
  await Promise.all(
    pages.opened.map(async ({ entry: openedEntry }) => {
      await openedEntry?.page
        .waitForLoadState('domcontentloaded', { timeout: remaining(openedMs) })
        .catch(() => undefined);
    }),
  );
  const title = await titleOf(page);
  const isRunning = () => pages.downloads.some(({ state }) => state === 'running');
  while (isRunning() && performance.now() < deadline) await delay(pollIntervalMs);
  const downloads = await attachDownloads(pages, context, saveTo);
  return {
    pageId: id,
    url: addressOf(page.url()),
    title,
    dialogs: pages.dialogs.splice(0).map((dialog) => ({ ...dialog, message: toStorableText(dialog.message) })),
    opened: pages.opened.splice(0).map((opened) => ({
      pageId: opened.entry?.id ?? '',
      url: addressOf(opened.entry?.page.url() ?? opened.url),
    })),
    downloads,
  };
}

/**
 * Attaches saved downloads to the result, and removes saved and failed downloads. The others stay for a later command.
 */
async function attachDownloads(
  pages: RunPages,
  context: CommandContext,
  saveTo: string | undefined,
): Promise<PageReply['downloads']> {
  const pending = pages.downloads;
  const reported: PageReply['downloads'] = [];
  for (const download of pending.slice()) {
    const { name, url, state, contentType, error } = download;
    const common = { name: toStorableText(name), url: addressOf(url), state };
    if (state === 'running' || reported.length >= maxDownloadsPerCommand) {
      reported.push({ ...common, state: 'running' });
      continue;
    }
    pending.splice(pending.indexOf(download), 1);
    if (state === 'failed') {
      reported.push({ ...common, error: toStorableText(error ?? 'It failed.') });
      continue;
    }
    const artifact = pages.nameArtifact(name, reported.length + 1);
    const filePath = join(context.temporaryFolder, artifact);
    await download.saveAs(filePath);
    await download.discard();
    const bytes = statSync(filePath).size;
    const saved = saveTo === undefined ? {} : await saveDownload(saveTo, name, filePath, context);
    if (bytes === 0) {
      reported.push({ ...common, ...saved, contentType, bytes });
      continue;
    }
    context.attach({ name: artifact, contentType, content: { filePath } });
    reported.push({ ...common, ...saved, contentType, bytes, artifact });
  }
  return reported;
}

/** Returns the path where a download was saved, or why it was not saved. The artifact exists in both cases. */
async function saveDownload(
  folder: string,
  name: string,
  filePath: string,
  context: CommandContext,
): Promise<{ path: string } | { error: string }> {
  try {
    return { path: toStorableText(await saveIntoSharedFolder(folder, name, filePath, context)) };
  } catch (error) {
    context.signal.throwIfAborted();
    return { error: toStorableText((error as Error).message).slice(0, 1000) };
  }
}
