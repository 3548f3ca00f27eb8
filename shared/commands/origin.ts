import { z } from 'zod';
import { id, named, timestamp } from '../contract/common.ts';

/** Longest name or id in an origin, in UTF-16 units: the longest email address. The hub cuts longer ones. */
export const maxOriginName = 320;
/** Longest reason in an origin, in UTF-16 units. The hub cuts a longer one. */
export const maxOriginReason = 2000;

/** What can start a run. A newer hub may send other words, which a companion shows as they are. */
export const originStarterKinds = [
  'user',
  'key',
  'hook',
  'schedule',
  'event',
  'channel',
  'device',
  'run',
  'other',
] as const;

const shortText = z.string().max(maxOriginName);

/**
 * Why the hub sends a command: the workspace, the workflow and its run, who started and who approved it. Texts in it come from users of the
 * hub: show them as text only.
 */
export const commandOrigin = named(
  'CommandOrigin',
  z
    .object({
      workspace: z
        .object({ id: id.describe('Id of the workspace'), name: shortText.describe('Name of the workspace') })
        .describe('Workspace that sends the command'),
      workflow: z
        .object({ id: id.describe('Id of the workflow'), name: shortText.describe('Name of the workflow') })
        .optional()
        .describe('Missing for a direct run of a skill'),
      run: z
        .object({
          id: id.describe('Id of the run'),
          step: z
            .object({
              index: z.int().min(0).describe('Position of the step, from 0'),
              name: shortText.optional().describe('Label of the step; missing without one'),
            })
            .optional()
            .describe('Step that sends the command'),
        })
        .optional()
        .describe('Run that sends the command'),
      startedBy: z
        .object({
          kind: z
            .string()
            .max(40)
            .describe(`One of ${originStarterKinds.join(', ')}; a newer hub may send other words`)
            .meta({ example: 'user' }),
          id: shortText.optional().describe('The id of the user, API key, channel or parent run'),
          name: shortText.describe("A user's email address, an API key's name, or words that name the trigger"),
        })
        .optional()
        .describe('Who or what started the run'),
      approvedBy: z
        .object({
          kind: z.enum(['user', 'key']).describe('A decision by a mailed link counts as the user it was mailed to'),
          id: z
            .string()
            .max(320)
            .describe('The id of the user or API key; an email address for approvers outside the workspace'),
          name: shortText.describe("A user's email address or an API key's name"),
          at: timestamp,
        })
        .optional()
        .describe('Missing when the command needed no approval'),
      reason: z
        .string()
        .max(maxOriginReason)
        .optional()
        .describe("The approver's note, else the title of the approval, else the name of the step"),
    })
    .describe('Why the hub sends a command. Its texts come from users of the hub: show them as text only'),
);
export type CommandOrigin = z.output<typeof commandOrigin>;
