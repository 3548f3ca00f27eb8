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
  name: name.optional(),
  when: text(1, 2000).optional().describe('A template; the step is skipped unless it renders to something truthy'),
  continueOnError: z.boolean().optional(),
  retry: stepRetry.optional(),
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
          type: z.literal('skill'),
          skillId: text(1, 100),
          input: jsonObject.default({}),
          ...stepOptions,
        }),
      ),
      named(
        'LogStep',
        z.strictObject({
          type: z.literal('log'),
          message: text(1, 10_000),
          level: z.enum(logLevels).default('info'),
          ...stepOptions,
        }),
      ),
      named(
        'ApprovalStep',
        z.strictObject({
          type: z.literal('approval'),
          title: text(1, 200),
          message: text(0, 10_000).default(''),
          expiresInSeconds: z
            .int()
            .min(1)
            .max(30 * 86_400)
            .optional()
            .describe('No expiry when left out'),
          onTimeout: z.enum(['reject', 'approve']).default('reject'),
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
          escalateTo: z.array(approver).min(1).max(50).optional(),
          ...stepOptions,
        }),
      ),
      named(
        'AgentStep',
        z.strictObject({
          type: z.literal('agent'),
          agentId: id.optional().describe('Whose system prompt, model and tools; a plain one when left out'),
          prompt: text(1, 50_000),
          toolProfileId: id
            .optional()
            .describe("Which skills it may call; the agent's own profile when left out, and none without either"),
          maxTurns: z.int().min(1, 'must be from 1 to 50').max(50, 'must be from 1 to 50').default(10),
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
          type: z.literal('deliver'),
          provider: z.enum(channelProviders, `must be one of ${channelProviders.join(', ')}`),
          channelId: text(1, 200)
            .optional()
            .describe(
              'Which channel of the provider; its only active one when left out. email without a channel goes out by email.send',
            ),
          to: text(1, 2000),
          subject: text(1, 500).optional().describe('For email'),
          text: text(1, 20_000),
          mediaUrl: text(1, 4000).optional(),
          ...stepOptions,
        }),
      ),
    ],
    'must be a step whose type is skill, deliver, log, agent or approval',
  ),
);
export type Step = z.output<typeof step>;

export const steps = z.array(step).min(1, 'must have at least one step').max(200, 'must have at most 200 steps');
