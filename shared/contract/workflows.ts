import { z } from 'zod';
import { jsonObject } from '../json.ts';
import { defineResource } from './define.ts';
import { deleted, id, idParams, listQuery, name, page, text, timestamp } from './common.ts';
import { runStatuses } from './run-status.ts';

const tag = 'Workflows';
const manage = { tag, caller: 'token', permission: 'automations:manage' } as const;

const schemaVersion = z.literal(1, 'must be 1').default(1);

export const trigger = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ schemaVersion, type: z.literal('manual') }),
    z.strictObject({
      schemaVersion,
      type: z.literal('webhook'),
      webhook: z.strictObject({ token: text(16, 200).describe('Callers of the inbound hook send it as X-Service-Automation-Token') }),
    }),
  ],
  'must be a trigger whose type is manual or webhook',
);
export type Trigger = z.output<typeof trigger>;

const stepOptions = {
  id: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must begin with a letter and hold letters, digits, _ and - (64 at most)')
    .optional()
    .describe('Later steps refer to it as {{steps.<id>.output}}'),
  name: name.optional(),
  when: text(1, 2000).optional().describe('A template; the step is skipped unless it renders to something truthy'),
  continueOnError: z.boolean().optional(),
  retry: z
    .strictObject({
      maxAttempts: z.int().min(1, 'must be from 1 to 10').max(10, 'must be from 1 to 10').describe('Tries in all'),
      backoffSeconds: z.number().min(0).max(3600).default(1).describe('Before the second try'),
      factor: z.number().min(1).max(10).default(2).describe('By which each further wait grows'),
    })
    .optional(),
  timeoutSeconds: z.number().min(0.1, 'must be from 0.1 to 3600').max(3600, 'must be from 0.1 to 3600').optional().describe('For each try'),
};

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export const step = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('skill'), skillId: text(1, 100), input: jsonObject.default({}), ...stepOptions }),
    z.strictObject({ type: z.literal('log'), message: text(1, 10_000), level: z.enum(logLevels).default('info'), ...stepOptions }),
    z.strictObject({
      type: z.literal('approval'),
      title: text(1, 200),
      message: text(0, 10_000).default(''),
      expiresInSeconds: z.int().min(1).max(30 * 86_400).optional().describe('No expiry when left out'),
      onTimeout: z.enum(['reject', 'approve']).default('reject'),
      ...stepOptions,
    }),
  ],
  'must be a step whose type is skill, log or approval',
);
export type Step = z.output<typeof step>;

export const workflow = z.object({
  id,
  name: z.string(),
  active: z.boolean(),
  triggerJson: trigger,
  stepsJson: z.array(step),
  version: z.int().min(1),
  createdAt: timestamp,
  updatedAt: timestamp,
  nextRunAt: timestamp.nullable(),
});
export type Workflow = z.output<typeof workflow>;

const steps = z.array(step).min(1, 'must have at least one step').max(200, 'must have at most 200 steps');

const createBody = z.strictObject({
  name,
  active: z.boolean().default(true),
  triggerJson: trigger.default({ schemaVersion: 1, type: 'manual' }),
  stepsJson: steps,
});

const list = {
  ...manage,
  method: 'GET',
  summary: 'List workflows',
  query: listQuery.extend({ active: z.enum(['true', 'false']).optional() }),
  response: page(workflow),
} as const;

const create = {
  ...manage,
  method: 'POST',
  summary: 'Create a workflow',
  description: 'Every step is checked here: an unknown skill, a missing input or a template that can\'t work is a 400 that names the path.',
  body: createBody,
  response: workflow,
  errors: ['product_not_entitled'],
} as const;

export const workflows = defineResource({
  listAutomationsAlias: { ...list, path: '/v1/automations', summary: 'List workflows (alias)' },
  createAutomationAlias: { ...create, path: '/v1/automations', summary: 'Create a workflow (alias)' },
  listAutomationWorkflows: { ...list, path: '/v1/automations/workflows' },
  createAutomationWorkflow: { ...create, path: '/v1/automations/workflows' },
  updateAutomationWorkflow: {
    ...manage,
    method: 'PATCH',
    path: '/v1/automations/workflows/{id}',
    summary: 'Change a workflow',
    description: 'Makes a new version; runs that have begun keep theirs.',
    params: idParams,
    body: z
      .strictObject({ name: name.optional(), active: z.boolean().optional(), triggerJson: trigger.optional(), stepsJson: steps.optional() })
      .refine((body) => Object.values(body).some((value) => value !== undefined), 'give at least one of name, active, triggerJson, stepsJson'),
    response: workflow,
  },
  deleteAutomationWorkflow: {
    ...manage,
    method: 'DELETE',
    path: '/v1/automations/workflows/{id}',
    summary: 'Delete a workflow',
    description: 'Its runs stay readable; those under way go on to their end.',
    params: idParams,
    response: deleted,
  },
  runAutomationWorkflow: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/workflows/{id}/run',
    summary: 'Run a workflow',
    params: idParams,
    body: z.strictObject({ context: text(0, 100_000).optional(), payload: jsonObject.optional() }),
    bodyOptional: true,
    response: z.object({ runId: id, status: z.enum(runStatuses) }),
    errors: ['workflow_inactive', 'workflow_invalid'],
  },
});
