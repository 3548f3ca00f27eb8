import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, name, named, text } from '../common.ts';
import { channelProviders } from './channel-providers.ts';

/** The steps of workflows and sequences. */

const approver = z
  .email('must be an email address')
  .max(254)
  .transform((value) => value.toLowerCase());

/** How a step is tried again. */
export const stepRetry = z.strictObject({
  maxAttempts: z.int().min(1, 'must be from 1 to 10').max(10, 'must be from 1 to 10').describe('Tries in all'),
  backoffSeconds: z.number().min(0).max(3600).default(1).describe('Before the second try'),
  factor: z.number().min(1).max(10).default(2).describe('By which each further wait grows'),
});

/** How long each try of a step may take. */
export const stepTimeoutSeconds = z.number().min(0.1, 'must be from 0.1 to 3600').max(3600, 'must be from 0.1 to 3600');

const stepOptions = {
  id: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must begin with a letter and hold letters, digits, _ and - (64 at most)')
    .optional()
    .describe('Later steps refer to it as {{steps.<id>.output}}'),
  name: name.optional().describe('Label for people, at most 200 characters'),
  when: text(1, 2000).optional().describe('A template; the step is skipped unless it renders to something truthy'),
  continueOnError: z
    .boolean()
    .optional()
    .describe('Whether the run goes on when the step fails after all tries; default false'),
  retry: stepRetry.optional().describe('How failed tries are repeated; the retry policy of the skill when left out'),
  delaySeconds: z
    .int()
    .min(0)
    .max(30 * 86_400, 'must be at most 30 days')
    .optional()
    .describe('Waits so long before the step begins; no worker is held'),
  timeoutSeconds: stepTimeoutSeconds.optional().describe('For each try'),
};

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export const step = named(
  'Step',
  z.discriminatedUnion(
    'type',
    [
      named(
        'SkillStep',
        z.strictObject({
          type: z.literal('skill').describe('Calls a skill'),
          skillId: text(1, 100).describe('Id in the catalogue of skills, such as `memory.write`'),
          input: jsonObject.default({}).describe('Input of the skill; texts may hold `{{…}}` templates'),
          ...stepOptions,
        }),
      ),
      named(
        'LogStep',
        z.strictObject({
          type: z.literal('log').describe('Writes a line to the log of the run'),
          message: text(1, 10_000).describe('Text of the line, at most 10,000 characters; may hold `{{…}}` templates'),
          level: z.enum(logLevels).default('info').describe('Severity of the line'),
          ...stepOptions,
        }),
      ),
      named(
        'ApprovalStep',
        z.strictObject({
          type: z.literal('approval').describe('Waits until a person approves'),
          title: text(1, 200).describe('Question for the approver, at most 200 characters; may hold templates'),
          message: text(0, 10_000)
            .default('')
            .describe('Details for the approver, at most 10,000 characters; may hold templates'),
          expiresInSeconds: z
            .int()
            .min(1)
            .max(30 * 86_400)
            .optional()
            .describe('No expiry when left out'),
          onTimeout: z
            .enum(['reject', 'approve'])
            .default('reject')
            .describe('Decision that is taken when the approval expires'),
          approvers: z
            .array(approver)
            .min(1)
            .max(50)
            .optional()
            .describe(
              'Email addresses of the people who may decide, by a link of their own or signed in; whoever manages automations when left out',
            ),
          required: z
            .int()
            .min(1)
            .max(50)
            .default(1)
            .describe('How many of the approvers must agree; one who rejects is enough'),
          escalateAfterSeconds: z
            .int()
            .min(1)
            .max(30 * 86_400)
            .optional()
            .describe('From then on those in escalateTo may decide as well'),
          escalateTo: z
            .array(approver)
            .min(1)
            .max(50)
            .optional()
            .describe('Email addresses of further approvers, 1 to 50, from `escalateAfterSeconds` on'),
          ...stepOptions,
          timeoutSeconds: stepTimeoutSeconds.optional().meta({
            description: 'Without effect, and refused when steps are saved; set expiresInSeconds',
            deprecated: true,
          }),
        }),
      ),
      named(
        'AgentStep',
        z.strictObject({
          type: z.literal('agent').describe('Lets an AI agent work on a prompt'),
          agentId: id.optional().describe('Whose system prompt, model and tools; a plain one when left out'),
          prompt: text(1, 50_000).describe('Task for the agent, at most 50,000 characters; may hold templates'),
          toolProfileId: id
            .optional()
            .describe("Which skills it may call; the agent's own profile when left out, and none without either"),
          maxTurns: z
            .int()
            .min(1, 'must be from 1 to 50')
            .max(50, 'must be from 1 to 50')
            .default(10)
            .describe('Calls of the model, at most; 1 to 50'),
          maxTokens: z.int().min(1).max(10_000_000).optional().describe('Tokens in all, in and out'),
          sessionId: text(1, 200)
            .optional()
            .describe('The session whose transcript it continues; that of the inbound message when left out'),
          ...stepOptions,
        }),
      ),
      named(
        'DeliverStep',
        z.strictObject({
          type: z.literal('deliver').describe('Sends a message through a channel'),
          provider: z
            .enum(channelProviders, `must be one of ${channelProviders.join(', ')}`)
            .describe('Provider of the channel'),
          channelId: text(1, 200)
            .optional()
            .describe(
              'Which channel of the provider; its only active one when left out. email without a channel goes out by email.send',
            ),
          to: text(1, 2000).describe(
            'Recipient as the provider names it: an email address, phone number or chat id; may hold templates',
          ),
          subject: text(1, 500).optional().describe('For email'),
          text: text(1, 20_000).describe('Text of the message, at most 20,000 characters; may hold templates'),
          mediaUrl: text(1, 4000)
            .optional()
            .describe('URL of a file that is sent with the text, where the provider supports it'),
          ...stepOptions,
        }),
      ),
    ],
    'must be a step whose type is skill, deliver, log, agent or approval',
  ),
);
export type Step = z.output<typeof step>;

/** Steps as a caller saves them. Stored steps may have what is refused here: earlier versions accepted it. */
export const steps = z
  .array(step)
  .min(1, 'must have at least one step')
  .max(200, 'must have at most 200 steps')
  .superRefine((given, { addIssue }) => {
    for (const [index, { type, timeoutSeconds }] of given.entries())
      if (type === 'approval' && timeoutSeconds !== undefined)
        addIssue({
          code: 'custom',
          path: [index, 'timeoutSeconds'],
          message: 'is not for approval steps; set expiresInSeconds, and onTimeout for what happens then',
        });
  });
