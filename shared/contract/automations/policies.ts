import { z } from 'zod';
import { isTimeZone } from '../../time-zone.ts';
import { id, named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Policy',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 22:00')
  .meta({ example: '22:00' });

export const quietHours = named(
  'QuietHours',
  z
    .strictObject({
      from: clock.describe('Local time at which they begin, `HH:MM`'),
      to: clock.meta({ description: 'Earlier than `from` when it lies on the next day', example: '06:00' }),
      timezone: text(1, 100)
        .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
        .default('UTC')
        .describe('IANA time zone of `from` and `to`, such as `Europe/Berlin`'),
      days: z
        .array(z.int().min(0).max(6))
        .min(1)
        .max(7)
        .optional()
        .describe('Days of the week on which they begin, 0 for Sunday; every day when left out'),
    })
    .refine((hours) => hours.from !== hours.to, { message: 'must differ from `from`', path: ['to'] }),
);
export type QuietHours = z.output<typeof quietHours>;

export const retention = named(
  'Retention',
  z
    .strictObject({
      maxAgeDays: z
        .int()
        .min(1, 'must be from 1 to 3650')
        .max(3650, 'must be from 1 to 3650')
        .optional()
        .describe('Days for which ended runs are kept, 1 to 3,650; no limit by age when left out'),
      maxRuns: z
        .int()
        .min(1, 'must be at least 1')
        .max(100_000_000)
        .optional()
        .describe('Number of ended runs that are kept, the newest; no limit by number when left out'),
    })
    .refine((value) => value.maxAgeDays !== undefined || value.maxRuns !== undefined, 'give maxAgeDays or maxRuns'),
  { maxAgeDays: 90 },
);
export type Retention = z.output<typeof retention>;

export const putPolicyBody = named(
  'PutPolicy',
  z.strictObject({
    standingOrders: text(0, 20_000).default('').describe("Reaches every agent's prompt"),
    quietHours: quietHours.nullable().default(null).describe('No run begins within them; it waits for their end'),
    maxRunsPerHour: z.int().min(1).max(10_000_000).nullable().default(null).describe('Further runs wait'),
    approvalsRequiredFor: z
      .array(text(1, 100))
      .max(200)
      .default([])
      .describe('Skills before which somebody must approve; `*` stands for any part of a name'),
    defaultApprovers: z
      .array(
        z
          .email('must be an email address')
          .max(254)
          .transform((value) => value.toLowerCase()),
      )
      .max(20)
      .default([])
      .meta({ example: ['ann@example.org'] })
      .describe(
        'Email addresses of the members who alone decide approvals whose step names no approvers, those of `system.run` included. Each must be a member of the workspace, also when they decide. Applies to approvals requested from now on',
      ),
    stepApprovalsNeedPerson: z
      .boolean()
      .default(false)
      .describe(
        'Step approvals without named approvers are decided as those of `system.run`: by a signed-in user, or by a key that carries `approvals:decide` itself; never by a starter of the run or an author of what it does',
      ),
    soleMemberMayDecideOwnRuns: z
      .boolean()
      .default(true)
      .describe(
        'While a workspace has one member, this user may decide approvals of commands that they wrote or started, signed in; never by a key',
      ),
    errorWorkflowId: id
      .nullable()
      .default(null)
      .describe(
        'Workflow that runs whenever another run fails, with the payload `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`: its steps read `{{payload.run.id}}`. Null for none. A failed run of the error workflow itself starts nothing',
      ),
    retention: retention
      .nullable()
      .default(null)
      .describe('Ended runs beyond it are removed; when null, those older than this installation keeps them'),
  }),
);

export const policy = named(
  'Policy',
  putPolicyBody.extend({ updatedAt: timestamp.nullable().describe('Null until it is first set') }),
);
export type Policy = z.output<typeof policy>;

export const policies = defineResource({
  getAutomationPolicy: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/policies',
    summary: 'Read the policy of the workspace',
    response: policy,
  },
  putAutomationPolicy: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PUT',
    path: '/v1/automations/policies',
    summary: 'Set the policy of the workspace',
    description:
      'What is left out goes back to its default. Only a signed-in admin changes `defaultApprovers`, `stepApprovalsNeedPerson` and `soleMemberMayDecideOwnRuns`: a key must send their present values.',
    body: putPolicyBody,
    response: policy,
    errors: ['approval_needs_person'],
  },
});
