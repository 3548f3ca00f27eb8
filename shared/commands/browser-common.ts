import { z } from 'zod';

/** Input fields that all browser commands share. */
export const pageInput = {
  pageId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('Page of the same run; the current page of the run when omitted'),
  timeoutMs: z.int().min(100).max(120_000).optional().describe('Timeout in milliseconds; 30,000 when omitted'),
  dialogs: z
    .enum(['accept', 'dismiss'])
    .optional()
    .describe(
      'Answer to dialogs (alert, confirm, prompt, beforeunload) while the command runs. When omitted, dialogs are dismissed, except beforeunload, which is accepted so that the page can be left',
    ),
  saveDownloadsTo: z
    .string()
    .min(1)
    .max(4096)
    .refine((value) => !value.includes('\u0000'), 'must not contain a NUL character')
    .optional()
    .describe(
      'Folder of the machine in which the downloads of this command are also saved. The owner must have shared it with --receive-downloads',
    ),
  promptText: z.string().max(10_000).optional().describe('Text for prompt dialogs; requires `dialogs: accept`'),
};

export const timeoutMs = 30_000;

/** Maximum number of dialogs, of opened pages and of downloads in one result. */
export const maxNotes = 50;
/** Maximum number of downloads that one command returns. The next command returns the others. */
export const maxDownloadsPerCommand = 10;

const pageId = z.string().max(100);
const url = z.string().max(16_384);

const download = {
  name: z.string().max(1000).describe('File name that the page suggests'),
  url,
  state: z
    .enum(['saved', 'running', 'failed'])
    .describe('`saved`: has an artifact; `running`: a later command of the run returns it'),
  contentType: z.string().max(200).optional(),
  bytes: z.int().min(0).optional(),
  error: z.string().max(1000).optional().describe('Why the download failed, or why it was not saved in the folder'),
  path: z.string().max(4096).optional().describe('Path of the file in the folder of `saveDownloadsTo`'),
};

const pageState = {
  pageId,
  url,
  title: z.string().max(4096),
  dialogs: z
    .array(
      z.object({
        type: z.string().max(40).describe('`alert`, `confirm`, `prompt` or `beforeunload`'),
        message: z.string().max(2000),
        answer: z.enum(['accepted', 'dismissed']),
      }),
    )
    .max(maxNotes)
    .default([])
    .describe('Dialogs of pages of the run since its last command'),
  opened: z
    .array(z.object({ pageId, url }))
    .max(maxNotes)
    .default([])
    .describe('Pages that pages of the run opened since its last command: popups and links with a target'),
};

/**
 * Output fields that all browser commands share: the current page, and events on pages of the run since the last
 * command.
 */
export const pageOutput = {
  ...pageState,
  downloads: z
    .array(z.object({ ...download, artifactId: z.uuid().optional() }))
    .max(maxNotes)
    .default([])
    .describe('Files that pages of the run downloaded since its last command'),
};

/** The shared output fields as the device sends them, with the name of each artifact instead of its id. */
export const pageReply = {
  ...pageState,
  downloads: z
    .array(z.object({ ...download, artifact: z.string().min(1).max(200).optional() }))
    .max(maxNotes)
    .default([]),
};

const frame = z
  .string()
  .min(1)
  .max(4096)
  .optional()
  .describe('CSS selector of the iframe to search; when omitted, the page and then every frame');

/** The target element, in exactly one of four forms. */
export const browserTarget = z.union(
  [
    z.strictObject({ selector: z.string().min(1).max(4096).describe('CSS selector'), frame }),
    z.strictObject({
      role: z
        .string()
        .regex(/^[a-z]{1,40}$/, 'must be an ARIA role')
        .describe('ARIA role, such as button'),
      name: z.string().max(1000).optional().describe('Accessible name'),
      frame,
    }),
    z.strictObject({ text: z.string().min(1).max(1000).describe('Visible text'), frame }),
    z.strictObject({
      ref: z
        .string()
        .regex(/^[A-Za-z0-9]{1,32}$/)
        .describe('Ref from the snapshot of `browser.content`'),
    }),
  ],
  'must be { selector }, { role, name }, { text } or { ref }, the first three with an optional frame',
);
export type BrowserTarget = z.output<typeof browserTarget>;
