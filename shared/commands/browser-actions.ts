import { z } from 'zod';
import { browserTarget, pageInput, timeoutMs, pageOutput, pageReply } from './browser-common.ts';
import { defineArtifactCommand } from './define.ts';

/** Declares a command that acts on a page and returns the state of the page. */
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
    output: z.object(pageOutput),
    reply: z.object(pageReply),
  });

const button = z.enum(['left', 'right', 'middle']).default('left');

export const browserClick = actionCommand('browser.click', {
  title: 'Click',
  summary: 'Clicks an element. The output lists pages that the click opened and files that it downloaded.',
  input: { target: browserTarget, button, clickCount: z.int().min(1).max(3).default(1) },
});

export const browserType = actionCommand('browser.type', {
  title: 'Type',
  summary: 'Replaces the content of a field, and optionally presses Enter.',
  input: {
    target: browserTarget,
    text: z.string().max(100_000),
    submit: z.boolean().default(false).describe('Whether to press Enter afterwards'),
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
    'Presses a key or a combination, such as Enter, ArrowDown or Control+A, on an element or on the focused element.',
  input: {
    key: z.string().min(1).max(100).describe('Key as Playwright names it: Enter, Escape, ArrowDown, a, Control+A'),
    target: browserTarget.optional().describe('Element that gets the key; the focused element when omitted'),
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
    'Scrolls an element into view. With x or y, scrolls the element, or the page without a target, by that many pixels.',
  input: {
    target: browserTarget.optional(),
    x: z.int().min(-100_000).max(100_000).optional().describe('Pixels to the right'),
    y: z.int().min(-100_000).max(100_000).optional().describe('Pixels down'),
  },
});

const selected = { selected: z.array(z.string().max(10_000)).max(1000).describe('Values of the selected options') };

export const browserSelect = defineArtifactCommand({
  type: 'browser.select',
  title: 'Select options',
  summary: 'Selects options of a `select` element by value or label; all others are deselected.',
  gate: 'browser',
  acts: true,
  timeoutMs,
  input: z.strictObject({
    target: browserTarget,
    options: z.array(z.string().max(10_000)).max(100).describe('Values or labels; an empty list deselects all'),
    ...pageInput,
  }),
  output: z.object({ ...pageOutput, ...selected }),
  reply: z.object({ ...pageReply, ...selected }),
});

export const browserUpload = actionCommand('browser.upload', {
  title: 'Choose files',
  summary: 'Sets the files of a file field, from a shared folder or from artifacts of the run.',
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
                .refine((value) => !value.includes('\u0000'), 'must not contain a NUL character')
                .describe('Path of a file in a folder that the owner of the node shares'),
            }),
            z.strictObject({ artifactId: z.uuid('must be a UUID').describe('Id of an artifact of the same run') }),
          ],
          'must be { path } or { artifactId }',
        ),
      )
      .max(20)
      .describe('Files, at most 32 MiB in total; an empty list clears the field'),
  },
});

export const browserWaitFor = actionCommand('browser.wait_for', {
  title: 'Wait for the page',
  summary: 'Waits until all given conditions are true, and fails with `timeout` if they are not in time.',
  input: {
    target: browserTarget.optional(),
    state: z
      .enum(['visible', 'hidden', 'attached', 'detached'])
      .default('visible')
      .describe('Required state of the target'),
    text: z.string().min(1).max(1000).optional().describe('Text that the page must contain'),
    url: z
      .string()
      .min(1)
      .max(16_384)
      .optional()
      .describe('Required address of the page; `*` matches anything except a slash, `**` anything'),
    load: z.enum(['domcontentloaded', 'load', 'networkidle']).optional(),
    download: z.literal(true).optional().describe('Waits until a download is saved; the output lists it'),
    opened: z.literal(true).optional().describe('Waits until a page opens another; the output lists it'),
  },
});
