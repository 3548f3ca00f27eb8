import { z } from 'zod';
import { timeoutMs, pageOutput, pageReply } from './browser-common.ts';
import { defineArtifactCommand, defineCommand } from './define.ts';

const pageId = z.string().min(1).max(100);

const pageList = z
  .array(
    z.object({
      pageId: z.string().max(100),
      url: z.string().max(16_384),
      title: z.string().max(4096),
      current: z.boolean().describe('Whether commands without a `pageId` act on the page'),
    }),
  )
  .max(100);

export const browserPages = defineCommand({
  type: 'browser.pages',
  title: 'List the pages of the run',
  summary: 'Lists the open pages of the run, including popups, oldest first.',
  gate: 'browser',
  acts: false,
  timeoutMs,
  input: z.strictObject({}),
  output: z.object({ pages: pageList }),
});

export const browserSwitch = defineArtifactCommand({
  type: 'browser.switch',
  title: 'Switch to a page',
  summary: 'Makes a page of the run the current page, on which commands without a pageId act.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({ pageId }),
  output: z.object(pageOutput),
  reply: z.object(pageReply),
});

export const browserClose = defineCommand({
  type: 'browser.close',
  title: 'Close a page',
  summary: 'Closes a page of the run. The page used before it becomes the current page.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({ pageId: pageId.optional().describe('Page to close; the current page when omitted') }),
  output: z.object({ pageId: z.string().max(100), pages: pageList }),
});
