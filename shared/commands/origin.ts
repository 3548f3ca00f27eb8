import { z } from 'zod';
import { id, named, timestamp } from '../contract/common.ts';

/**
 * Maximum length of a name or id in an origin, in UTF-16 units: that of an email address. The hub truncates longer
 * ones.
 */
export const maxOriginName = 320;
/** Maximum length of a reason in an origin, in UTF-16 units. The hub truncates longer ones. */
export const maxOriginReason = 2000;

/** Kinds of starters of a run. Newer hubs can send other values, which companions show unchanged. */
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
 * Origin of a command: the workspace, the workflow and its run, who started the run and who approved the command.
 * Its texts come from users of the hub: show them as text only.
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
        .describe('Workflow of the run; missing for a direct run of a skill'),
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
            .describe(`One of ${originStarterKinds.join(', ')}; newer hubs can send other values`)
            .meta({ example: 'user' }),
          id: shortText.optional().describe('Id of the user, API key, channel or parent run'),
          name: shortText.describe('Email address of the user, name of the API key, or name of the trigger'),
        })
        .optional()
        .describe('Who or what started the run'),
      approvedBy: z
        .object({
          kind: z
            .enum(['user', 'key'])
            .describe('Kind of the approver; a decision by a mailed link counts as the user'),
          id: z
            .string()
            .max(320)
            .describe('Id of the user or API key; the email address of an approver outside the workspace'),
          name: shortText.describe('Email address of the user or name of the API key'),
          at: timestamp,
        })
        .optional()
        .describe('Approver; missing when the command required no approval'),
      reason: z
        .string()
        .max(maxOriginReason)
        .optional()
        .describe('Note of the approver, otherwise the title of the approval or the name of the step'),
    })
    .describe('Origin of a command. Its texts come from users of the hub: show them as text only'),
);
export type CommandOrigin = z.output<typeof commandOrigin>;
