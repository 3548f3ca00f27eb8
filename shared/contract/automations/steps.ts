import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, name, named, text } from '../common.ts';
import { channelProviders } from './channel-providers.ts';

/** Steps of workflows and sequences. */

const approver = z
  .email('must be an email address')
  .max(254)
  .transform((value) => value.toLowerCase());

/** Retry policy of a step. */
export const stepRetry = z.strictObject({
  maxAttempts: z
    .int()
    .min(1, 'must be from 1 to 10')
    .max(10, 'must be from 1 to 10')
    .describe('Attempts in total, 1 to 10'),
  backoffSeconds: z.number().min(0).max(3600).default(1).describe('Seconds before the second attempt'),
  factor: z.number().min(1).max(10).default(2).describe('Multiplier of each further wait'),
});

/** Timeout of each attempt of a step. */
export const stepTimeoutSeconds = z.number().min(0.1, 'must be from 0.1 to 3600').max(3600, 'must be from 0.1 to 3600');

const stepOptions = {
  id: z
    .string()
    .regex(
      /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
      'must begin with a letter and contain only letters, digits, _ and - (64 at most)',
    )
    .optional()
    .describe('Id of the step; later steps refer to it as `{{steps.<id>.output}}`'),
  name: name.optional().describe('Display name, at most 200 characters'),
  when: text(1, 2000).optional().describe('Template; the step is skipped unless it renders to a truthy value'),
  continueOnError: z
    .boolean()
    .optional()
    .describe('Whether the run continues when the step fails after all attempts; default false'),
  retry: stepRetry.optional().describe('Retry policy; the policy of the skill when omitted'),
  delaySeconds: z
    .int()
    .min(0)
    .max(30 * 86_400, 'must be at most 30 days')
    .optional()
    .describe('Seconds to wait before the step starts; the wait occupies no worker'),
  timeoutSeconds: stepTimeoutSeconds.optional().describe('Timeout of each attempt, in seconds'),
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
          skillId: text(1, 100).describe('Id of the skill in the catalog, such as `memory.write`'),
          input: jsonObject.default({}).describe('Input of the skill; texts may contain `{{…}}` templates'),
          ...stepOptions,
        }),
      ),
      named(
        'LogStep',
        z.strictObject({
          type: z.literal('log').describe('Writes a line to the log of the run'),
          message: text(1, 10_000).describe(
            'Text of the line, at most 10,000 characters; may contain `{{…}}` templates',
          ),
          level: z.enum(logLevels).default('info').describe('Severity of the line'),
          ...stepOptions,
        }),
      ),
      named(
        'ApprovalStep',
        z.strictObject({
          type: z.literal('approval').describe('Waits until a person approves'),
          title: text(1, 200).describe('Question for the approver, at most 200 characters; may contain templates'),
          message: text(0, 10_000)
            .default('')
            .describe('Details for the approver, at most 10,000 characters; may contain templates'),
          expiresInSeconds: z
            .int()
            .min(1)
            .max(30 * 86_400)
            .optional()
            .describe('Seconds until the approval expires; no expiry when omitted'),
          onTimeout: z.enum(['reject', 'approve']).default('reject').describe('Decision when the approval expires'),
          approvers: z
            .array(approver)
            .min(1)
            .max(50)
            .optional()
            .describe(
              'Email addresses of the approvers, who decide with their own link or signed in; when omitted, every caller with the permission may decide',
            ),
          required: z
            .int()
            .min(1)
            .max(50)
            .default(1)
            .describe('Number of approvers who must approve; a single rejection rejects'),
          escalateAfterSeconds: z
            .int()
            .min(1)
            .max(30 * 86_400)
            .optional()
            .describe('Seconds after which the approvers in `escalateTo` may also decide'),
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
          type: z.literal('agent').describe('Runs an AI agent with a prompt'),
          agentId: id
            .optional()
            .describe('AI agent whose system prompt, model and tools are used; defaults when omitted'),
          prompt: text(1, 50_000).describe('Task for the agent, at most 50,000 characters; may contain templates'),
          toolProfileId: id
            .optional()
            .describe(
              "Tool profile with the allowed skills; the agent's own when omitted; without either, no skills are allowed",
            ),
          maxTurns: z
            .int()
            .min(1, 'must be from 1 to 50')
            .max(50, 'must be from 1 to 50')
            .default(10)
            .describe('Maximum number of model calls, 1 to 50'),
          maxTokens: z
            .int()
            .min(1)
            .max(10_000_000)
            .optional()
            .describe('Maximum number of tokens, input and output together'),
          sessionId: text(1, 200)
            .optional()
            .describe('Session whose transcript the agent continues; that of the inbound message when omitted'),
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
              'Channel of the provider; its only active channel when omitted. Email without a channel is sent with `email.send`',
            ),
          to: text(1, 2000).describe(
            'Recipient at the provider: an email address, phone number or chat id; may contain templates',
          ),
          subject: text(1, 500).optional().describe('Subject, for email'),
          text: text(1, 20_000).describe('Text of the message, at most 20,000 characters; may contain templates'),
          mediaUrl: text(1, 4000)
            .optional()
            .describe('URL of a file to send with the text, if the provider supports it'),
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
