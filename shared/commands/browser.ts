import { z } from 'zod';
import { jsonValue } from '../json.ts';
import { browserTarget, pageInput, timeoutMs, whereOutput, whereReply } from './browser-common.ts';
import { defineArtifactCommand } from './define.ts';

const httpStatus = {
  status: z
    .int()
    .nullable()
    .describe('HTTP status of the final answer; null for one without an answer, such as a download'),
};
const waitUntil = z.enum(['commit', 'domcontentloaded', 'load']).default('load');

export const browserNavigate = defineArtifactCommand({
  type: 'browser.navigate',
  title: 'Open a page',
  summary: "Opens an http or https address in the node's own browser profile.",
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    url: z.string().min(1).max(16_384).describe('http or https'),
    newPage: z
      .boolean()
      .default(false)
      .describe('Open it in a new page, which becomes the current one, rather than in the current page'),
    waitUntil,
    ...pageInput,
  }),
  output: z.object({ ...whereOutput, ...httpStatus }),
  reply: z.object({ ...whereReply, ...httpStatus }),
});

/** Declares a command that takes nothing but a page and moves through its history. */
const historyCommand = <const Type extends string>(type: Type, title: string, summary: string) =>
  defineArtifactCommand({
    type,
    title,
    summary,
    gate: 'browser',
    acts: true,
    timeoutMs,
    input: z.strictObject({ waitUntil, ...pageInput }),
    output: z.object({ ...whereOutput, ...httpStatus }),
    reply: z.object({ ...whereReply, ...httpStatus }),
  });

export const browserBack = historyCommand('browser.back', 'Go back', 'Goes back to the page before in the history.');

export const browserReload = historyCommand('browser.reload', 'Reload the page', 'Loads the page again.');

const media = {
  contentType: z.string().max(100),
  bytes: z.int().min(1),
  width: z.int().min(1),
  height: z.int().min(1),
};

export const browserScreenshot = defineArtifactCommand({
  type: 'browser.screenshot',
  title: 'Take a page screenshot',
  summary: 'Takes a picture of the page, or of all of it, or of one element.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    fullPage: z.boolean().default(false),
    target: browserTarget.optional(),
    format: z.enum(['png', 'jpeg']).default('png'),
    quality: z.int().min(1).max(100).default(80).describe('JPEG only'),
    ...pageInput,
  }),
  output: z.object({ artifactId: z.uuid(), ...media, ...whereOutput }),
  reply: z.object({ artifact: z.string().min(1).max(200), ...media, ...whereReply }),
});

/** The JSON text of what `browser.evaluate` returns is refused above this. */
export const maxEvaluateBytes = 256 * 1024;

export const browserEvaluate = defineArtifactCommand({
  type: 'browser.evaluate',
  title: 'Evaluate JavaScript in the page',
  summary: 'Evaluates an expression in the page and answers its JSON value; bounded in time and size.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    expression: z.string().min(1).max(100_000).describe('A JavaScript expression; a promise is awaited'),
    ...pageInput,
  }),
  output: z.object({ ...whereOutput, value: jsonValue }),
  reply: z.object({ ...whereReply, value: jsonValue }),
});

/** Text, HTML and snapshot are cut at this many characters each. */
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
    'Answers the address, title, visible text and accessibility snapshot of the page; the refs in it can be clicked and typed into.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    includeHtml: z.boolean().default(false),
    ...pageInput,
  }),
  output: z.object({ ...whereOutput, ...contentFields }),
  reply: z.object({ ...whereReply, ...contentFields }),
});
