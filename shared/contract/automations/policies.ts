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
      from: clock.describe('Local time of the start, `HH:MM`'),
      to: clock.meta({
        description: 'Local time of the end, `HH:MM`; on the next day when earlier than `from`',
        example: '06:00',
      }),
      timezone: text(1, 100)
        .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
        .default('UTC')
        .describe('IANA time zone of `from` and `to`, such as `Europe/Berlin`'),
      days: z
        .array(z.int().min(0).max(6))
        .min(1)
        .max(7)
        .optional()
        .describe('Days of the week on which quiet hours start, 0 for Sunday; every day when omitted'),
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
        .describe('Days for which ended runs are kept, 1 to 3,650; no limit by age when omitted'),
      maxRuns: z
        .int()
        .min(1, 'must be at least 1')
        .max(100_000_000)
        .optional()
        .describe('Number of ended runs to keep, the newest; no limit by number when omitted'),
    })
    .refine((value) => value.maxAgeDays !== undefined || value.maxRuns !== undefined, 'give maxAgeDays or maxRuns'),
  { maxAgeDays: 90 },
);
export type Retention = z.output<typeof retention>;

export const putPolicyBody = named(
  'PutPolicy',
  z.strictObject({
    standingOrders: text(0, 20_000).default('').describe('Instructions that are added to the prompt of every agent'),
    quietHours: quietHours
      .nullable()
      .default(null)
      .describe('Runs do not start within quiet hours; they wait for the end'),
    maxRunsPerHour: z
      .int()
      .min(1)
      .max(10_000_000)
      .nullable()
      .default(null)
      .describe('Maximum number of runs that start per hour; further runs wait; null for no limit'),
    approvalsRequiredFor: z
      .array(text(1, 100))
      .max(200)
      .default([])
      .describe('Skills that require an approval; `*` matches any part of a name'),
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
        'Email addresses of the approvers for steps that name none, including `system.run`. Each must be a member of the workspace, also at the time of the decision. Applies to new approvals',
      ),
    stepApprovalsNeedPerson: z
      .boolean()
      .default(false)
      .describe(
        'Whether step approvals without named approvers follow the rules of `system.run` approvals: only a signed-in user or a key with `approvals:decide` can decide, and no starter or author of the run',
      ),
    soleMemberMayDecideOwnRuns: z
      .boolean()
      .default(true)
      .describe(
        'Whether the only member of a workspace may decide approvals of commands that they wrote or started. Requires a signed-in user, not an API key',
      ),
    errorWorkflowId: id
      .nullable()
      .default(null)
      .describe(
        'Workflow that runs when another run fails; null for none. Its payload is `{ "run": { "id", "workflowId", "attempt", "trigger", "error": { "code", "message" } } }`; steps read `{{payload.run.id}}`. A failed run of the error workflow itself starts no other run',
      ),
    retention: retention
      .nullable()
      .default(null)
      .describe('Retention of ended runs; null for the retention of the installation'),
  }),
);

export const policy = named(
  'Policy',
  putPolicyBody.extend({
    version: z.int().min(0).describe('Version, increased by each change; 0 until the policy is first set'),
    updatedAt: timestamp.nullable().describe('Null until the policy is first set'),
  }),
);
export type Policy = z.output<typeof policy>;

export const policies = defineResource({
  getAutomationPolicy: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/policies',
    summary: 'Get the policy of the workspace',
    description:
      'Returns the defaults with version 0 until the policy is first set. `ETag` is the version; send it as `If-Match` with an update.',
    response: policy,
  },
  putAutomationPolicy: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PUT',
    path: '/v1/automations/policies',
    summary: 'Set the policy of the workspace',
    ifMatch: 'version_conflict',
    description:
      'Omitted fields are reset to their defaults. Only a signed-in admin can change `defaultApprovers`, `stepApprovalsNeedPerson` and `soleMemberMayDecideOwnRuns`; a key must send their current values.',
    body: putPolicyBody,
    response: policy,
    errors: ['approval_needs_person'],
  },
});
