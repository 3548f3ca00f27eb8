import { z } from 'zod';
import { jsonValue } from '../json.ts';
import { browserTarget, pageInput, timeoutMs, pageOutput, pageReply } from './browser-common.ts';
import { defineArtifactCommand } from './define.ts';

const httpStatus = {
  status: z
    .int()
    .nullable()
    .describe('HTTP status of the final response; null without a response, such as for a download'),
};
const waitUntil = z.enum(['commit', 'domcontentloaded', 'load']).default('load');

export const browserNavigate = defineArtifactCommand({
  type: 'browser.navigate',
  title: 'Open a page',
  summary: "Opens an http or https address in the node's browser profile.",
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    url: z.string().min(1).max(16_384).describe('Address to open, http or https'),
    newPage: z
      .boolean()
      .default(false)
      .describe('Whether to open the address in a new page, which becomes the current page'),
    waitUntil,
    ...pageInput,
  }),
  output: z.object({ ...pageOutput, ...httpStatus }),
  reply: z.object({ ...pageReply, ...httpStatus }),
});

/** Declares a command that navigates in the history of a page. */
const historyCommand = <const Type extends string>(type: Type, title: string, summary: string) =>
  defineArtifactCommand({
    type,
    title,
    summary,
    gate: 'browser',
    acts: true,
    timeoutMs,
    input: z.strictObject({ waitUntil, ...pageInput }),
    output: z.object({ ...pageOutput, ...httpStatus }),
    reply: z.object({ ...pageReply, ...httpStatus }),
  });

export const browserBack = historyCommand('browser.back', 'Go back', 'Goes back to the previous page in the history.');

export const browserReload = historyCommand('browser.reload', 'Reload the page', 'Reloads the page.');

const media = {
  contentType: z.string().max(100),
  bytes: z.int().min(1),
  width: z.int().min(1),
  height: z.int().min(1),
};

export const browserScreenshot = defineArtifactCommand({
  type: 'browser.screenshot',
  title: 'Take a page screenshot',
  summary: 'Takes a screenshot of the visible part of the page, the full page, or one element.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    fullPage: z.boolean().default(false),
    target: browserTarget.optional(),
    format: z.enum(['png', 'jpeg']).default('png'),
    quality: z.int().min(1).max(100).default(80).describe('Quality, for JPEG only'),
    ...pageInput,
  }),
  output: z.object({ artifactId: z.uuid(), ...media, ...pageOutput }),
  reply: z.object({ artifact: z.string().min(1).max(200), ...media, ...pageReply }),
});

/** Maximum size of the result of `browser.evaluate` as JSON, in bytes. */
export const maxEvaluateBytes = 256 * 1024;

export const browserEvaluate = defineArtifactCommand({
  type: 'browser.evaluate',
  title: 'Evaluate JavaScript in the page',
  summary: 'Evaluates an expression in the page and returns its JSON value. Time and size are limited.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    expression: z.string().min(1).max(100_000).describe('JavaScript expression; promises are awaited'),
    ...pageInput,
  }),
  output: z.object({ ...pageOutput, value: jsonValue }),
  reply: z.object({ ...pageReply, value: jsonValue }),
});

/** Text, HTML and snapshot are each truncated at this number of characters. */
export const maxContentLength = 500_000;

const contentFields = {
  text: z.string().max(maxContentLength),
  html: z.string().max(maxContentLength).optional(),
  snapshot: z.string().max(maxContentLength),
  truncated: z.boolean(),
};

export const browserContent = defineArtifactCommand({
  type: 'browser.content',
  title: 'Read the page',
  summary:
    'Returns the address, title, visible text and accessibility snapshot of the page. Other commands accept the refs in the snapshot as targets.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    includeHtml: z.boolean().default(false),
    ...pageInput,
  }),
  output: z.object({ ...pageOutput, ...contentFields }),
  reply: z.object({ ...pageReply, ...contentFields }),
});
