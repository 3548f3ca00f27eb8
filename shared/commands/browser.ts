import { z } from 'zod';
import { jsonValue } from '../json.ts';
import { defineArtifactCommand, defineCommand } from './define.ts';

const page = {
  pageId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('A page that an earlier command answered; the current page when left out'),
  timeoutMs: z.int().min(100).max(120_000).optional().describe('Milliseconds; 30,000 when left out'),
};

const where = { pageId: z.string().max(100), url: z.string().max(16_384), title: z.string().max(4096) };
const timeoutMs = 30_000;

/** What to act on; exactly one of the four forms. */
export const browserTarget = z.union(
  [
    z.strictObject({ selector: z.string().min(1).max(4096).describe('CSS selector') }),
    z.strictObject({
      role: z
        .string()
        .regex(/^[a-z]{1,40}$/, 'must be an ARIA role')
        .describe('ARIA role, such as button'),
      name: z.string().max(1000).optional().describe('Accessible name'),
    }),
    z.strictObject({ text: z.string().min(1).max(1000).describe('Visible text') }),
    z.strictObject({
      ref: z
        .string()
        .regex(/^[A-Za-z0-9]{1,32}$/)
        .describe('A ref from the snapshot of browser.content'),
    }),
  ],
  'must be { selector }, { role, name }, { text } or { ref }',
);
export type BrowserTarget = z.output<typeof browserTarget>;

export const browserNavigate = defineCommand({
  type: 'browser.navigate',
  title: 'Open a page',
  summary: "Opens an http or https address in the node's own browser profile.",
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    url: z.string().min(1).max(16_384).describe('http or https'),
    newPage: z.boolean().default(false).describe('Open it in a new page rather than the current one'),
    waitUntil: z.enum(['commit', 'domcontentloaded', 'load']).default('load'),
    ...page,
  }),
  output: z.object({ ...where, status: z.int().nullable().describe('HTTP status of the final answer') }),
});

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
    ...page,
  }),
  output: z.object({ artifactId: z.uuid(), ...media, ...where }),
  reply: z.object({ artifact: z.string().min(1).max(200), ...media, ...where }),
});

export const browserClick = defineCommand({
  type: 'browser.click',
  title: 'Click',
  summary: 'Clicks on an element of the page.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    target: browserTarget,
    button: z.enum(['left', 'right', 'middle']).default('left'),
    clickCount: z.int().min(1).max(3).default(1),
    ...page,
  }),
  output: z.object(where),
});

export const browserType = defineCommand({
  type: 'browser.type',
  title: 'Type',
  summary: 'Replaces the content of a field, and may press Enter after it.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    target: browserTarget,
    text: z.string().max(100_000),
    submit: z.boolean().default(false).describe('Press Enter afterwards'),
    ...page,
  }),
  output: z.object(where),
});

/** The JSON text of what `browser.evaluate` returns is refused above this. */
export const maxEvaluateBytes = 256 * 1024;

export const browserEvaluate = defineCommand({
  type: 'browser.evaluate',
  title: 'Evaluate JavaScript in the page',
  summary: 'Evaluates an expression in the page and answers its JSON value; bounded in time and size.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    expression: z.string().min(1).max(100_000).describe('A JavaScript expression; a promise is awaited'),
    ...page,
  }),
  output: z.object({ ...where, value: jsonValue }),
});

/** Text, HTML and snapshot are cut at this many characters each. */
export const maxContentLength = 500_000;

export const browserContent = defineCommand({
  type: 'browser.content',
  title: 'Read the page',
  summary:
    'Answers the address, title, visible text and accessibility snapshot of the page; the refs in it can be clicked and typed into.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    includeHtml: z.boolean().default(false),
    ...page,
  }),
  output: z.object({
    ...where,
    text: z.string().max(maxContentLength),
    html: z.string().max(maxContentLength).optional(),
    snapshot: z.string().max(maxContentLength),
    truncated: z.boolean(),
  }),
});
