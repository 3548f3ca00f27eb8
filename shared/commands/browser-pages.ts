import { z } from 'zod';
import { timeoutMs, whereOutput, whereReply } from './browser-common.ts';
import { defineArtifactCommand, defineCommand } from './define.ts';

const pageId = z.string().min(1).max(100);

const pageList = z
  .array(
    z.object({
      pageId: z.string().max(100),
      url: z.string().max(16_384),
      title: z.string().max(4096),
      current: z.boolean().describe('Whether commands without a pageId act on it'),
    }),
  )
  .max(100);

export const browserPages = defineCommand({
  type: 'browser.pages',
  title: 'List the pages of the run',
  summary: 'Lists the pages that the run has open, popups included, oldest first.',
  gate: 'browser',
  acts: false,
  timeoutMs,
  input: z.strictObject({}),
  output: z.object({ pages: pageList }),
});

export const browserSwitch = defineArtifactCommand({
  type: 'browser.switch',
  title: 'Switch to a page',
  summary: 'Makes a page of the run the current one: commands without a pageId act on it from then on.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({ pageId }),
  output: z.object(whereOutput),
  reply: z.object(whereReply),
});

export const browserClose = defineCommand({
  type: 'browser.close',
  title: 'Close a page',
  summary: 'Closes a page of the run; the page used last before it becomes the current one.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({ pageId: pageId.optional().describe('The current page when left out') }),
  output: z.object({ pageId: z.string().max(100), pages: pageList }),
});
