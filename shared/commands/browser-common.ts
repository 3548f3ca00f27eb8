import { z } from 'zod';

/** What every browser command takes besides its own fields. */
export const pageInput = {
  pageId: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("A page of the same run; the run's current page when left out"),
  timeoutMs: z.int().min(100).max(120_000).optional().describe('Milliseconds; 30,000 when left out'),
  dialogs: z
    .enum(['accept', 'dismiss'])
    .optional()
    .describe(
      'How dialogs (alert, confirm, prompt, beforeunload) are answered while the command runs. When left out they are dismissed, and beforeunload is accepted so that the page can be left',
    ),
  saveDownloadsTo: z
    .string()
    .min(1)
    .max(4096)
    .refine((value) => !value.includes('\u0000'), 'must not hold a NUL character')
    .optional()
    .describe(
      'A folder of the machine in which downloads that this command hands over are saved too. Its owner must have shared it with --receive-downloads',
    ),
  promptText: z.string().max(10_000).optional().describe('Text for prompt dialogs; needs dialogs: accept'),
};

export const timeoutMs = 30_000;

/** Notes of each kind (dialogs, opened pages, downloads) that one answer holds at most. */
export const maxNotes = 50;
/** Downloads that one command hands over at most; the next command brings the others. */
export const maxDownloadsAtOnce = 10;

const pageId = z.string().max(100);
const url = z.string().max(16_384);

const download = {
  name: z.string().max(1000).describe('The file name that the page suggests'),
  url,
  state: z
    .enum(['saved', 'running', 'failed'])
    .describe('`saved` has an artefact; `running` is handed over by a later command of the run'),
  contentType: z.string().max(200).optional(),
  bytes: z.int().min(0).optional(),
  error: z.string().max(1000).optional().describe('Why it failed, or why it was not saved in the folder'),
  path: z.string().max(4096).optional().describe('Where it was saved in the folder of `saveDownloadsTo`'),
};

const noted = {
  pageId,
  url,
  title: z.string().max(4096),
  dialogs: z
    .array(
      z.object({
        type: z.string().max(40).describe('alert, confirm, prompt or beforeunload'),
        message: z.string().max(2000),
        answer: z.enum(['accepted', 'dismissed']),
      }),
    )
    .max(maxNotes)
    .default([])
    .describe('Dialogs that pages of the run showed since its last command, with their text'),
  opened: z
    .array(z.object({ pageId, url }))
    .max(maxNotes)
    .default([])
    .describe('Pages that pages of the run opened since its last command: popups and links with a target'),
};

/** What every browser command answers: the page it acted on, and what happened on the pages of its run since the last command. */
export const whereOutput = {
  ...noted,
  downloads: z
    .array(z.object({ ...download, artifactId: z.uuid().optional() }))
    .max(maxNotes)
    .default([])
    .describe('Files that pages of the run downloaded since its last command'),
};

/** The same as the device sends it: artefacts by name. */
export const whereReply = {
  ...noted,
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
  .describe('CSS selector of the iframe to look in; every frame when left out, the page itself first');

/** What to act on; exactly one of the four forms. */
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
        .describe('A ref from the snapshot of browser.content'),
    }),
  ],
  'must be { selector }, { role, name }, { text } or { ref }, the first three with an optional frame',
);
export type BrowserTarget = z.output<typeof browserTarget>;
