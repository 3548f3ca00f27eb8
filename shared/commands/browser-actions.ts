import { z } from 'zod';
import { browserTarget, pageInput, timeoutMs, whereOutput, whereReply } from './browser-common.ts';
import { defineArtifactCommand } from './define.ts';

/** Declares a command that acts on a page and answers where it is then. */
const actionCommand = <const Type extends string, Shape extends z.ZodRawShape>(
  type: Type,
  { title, summary, input }: { title: string; summary: string; input: Shape },
) =>
  defineArtifactCommand({
    type,
    title,
    summary,
    gate: 'browser',
    acts: true,
    timeoutMs,
    input: z.strictObject({ ...input, ...pageInput }),
    output: z.object(whereOutput),
    reply: z.object(whereReply),
  });

const button = z.enum(['left', 'right', 'middle']).default('left');

export const browserClick = actionCommand('browser.click', {
  title: 'Click',
  summary: 'Clicks an element. The output names pages that the click opened and files that it downloaded.',
  input: { target: browserTarget, button, clickCount: z.int().min(1).max(3).default(1) },
});

export const browserType = actionCommand('browser.type', {
  title: 'Type',
  summary: 'Replaces the content of a field, and may press Enter after it.',
  input: {
    target: browserTarget,
    text: z.string().max(100_000),
    submit: z.boolean().default(false).describe('Press Enter afterwards'),
  },
});

export const browserCheck = actionCommand('browser.check', {
  title: 'Check or uncheck',
  summary: 'Checks a checkbox or radio button, or unchecks a checkbox.',
  input: { target: browserTarget, checked: z.boolean().default(true) },
});

export const browserPress = actionCommand('browser.press', {
  title: 'Press a key',
  summary:
    'Presses a key or a combination, such as Enter, ArrowDown or Control+A, on an element or on what has the focus.',
  input: {
    key: z.string().min(1).max(100).describe('As Playwright names keys: Enter, Escape, ArrowDown, a, Control+A'),
    target: browserTarget.optional().describe('What gets the key; the element with the focus when left out'),
  },
});

export const browserHover = actionCommand('browser.hover', {
  title: 'Hover',
  summary: 'Moves the mouse pointer over an element.',
  input: { target: browserTarget },
});

export const browserScroll = actionCommand('browser.scroll', {
  title: 'Scroll',
  summary:
    'Scrolls an element into view; with x or y, scrolls the element, or the page without a target, by so many pixels.',
  input: {
    target: browserTarget.optional(),
    x: z.int().min(-100_000).max(100_000).optional().describe('Pixels to the right'),
    y: z.int().min(-100_000).max(100_000).optional().describe('Pixels down'),
  },
});

const selected = { selected: z.array(z.string().max(10_000)).max(1000).describe('Values of the options now selected') };

export const browserSelect = defineArtifactCommand({
  type: 'browser.select',
  title: 'Select options',
  summary: 'Selects options of a <select> by value or label; all others are deselected.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    target: browserTarget,
    options: z.array(z.string().max(10_000)).max(100).describe('Values or labels; none deselects all'),
    ...pageInput,
  }),
  output: z.object({ ...whereOutput, ...selected }),
  reply: z.object({ ...whereReply, ...selected }),
});

export const browserUpload = actionCommand('browser.upload', {
  title: 'Choose files',
  summary: 'Puts files of a shared folder, or artefacts of the run, into a file field, as if a user had chosen them.',
  input: {
    target: browserTarget,
    files: z
      .array(
        z.union(
          [
            z.strictObject({
              path: z
                .string()
                .min(1)
                .max(4096)
                .refine((value) => !value.includes('\u0000'), 'must not hold a NUL character')
                .describe('A file in a folder that the owner of the node shares'),
            }),
            z.strictObject({ artifactId: z.uuid('must be a UUID').describe('An artefact of the same run') }),
          ],
          'must be { path } or { artifactId }',
        ),
      )
      .max(20)
      .describe('32 MiB together at most; none empties the field'),
  },
});

export const browserWaitFor = actionCommand('browser.wait_for', {
  title: 'Wait for the page',
  summary: 'Waits until all that is named holds, and fails with `timeout` when it does not in time.',
  input: {
    target: browserTarget.optional(),
    state: z.enum(['visible', 'hidden', 'attached', 'detached']).default('visible').describe('Of the target'),
    text: z.string().min(1).max(1000).optional().describe('Text that the page must show'),
    url: z
      .string()
      .min(1)
      .max(16_384)
      .optional()
      .describe('Address of the page; * stands for anything but a slash, ** for anything'),
    load: z.enum(['domcontentloaded', 'load', 'networkidle']).optional(),
    download: z.literal(true).optional().describe('Until a download is saved, which the output then names'),
    opened: z.literal(true).optional().describe('Until a page opened another, which the output then names'),
  },
});
