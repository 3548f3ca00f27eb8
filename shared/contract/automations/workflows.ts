import { z } from 'zod';
import { problemsOfInputs } from '../../inputs-problems.ts';
import type { WorkflowInputs } from '../../inputs-schema.ts';
import { jsonObject, jsonValue } from '../../json.ts';
import {
  confusedFields,
  deleted,
  id,
  idParams,
  instant,
  listQuery,
  name,
  named,
  page,
  text,
  timestamp,
} from '../common.ts';
import { defineResource } from '../define.ts';
import { runStatuses } from './run-status.ts';
import { step, steps } from './steps.ts';
import { schedule, trigger } from './triggers.ts';

const tag = 'Workflows';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

/** Limits on the runs of a workflow, and what happens to a run that exceeds them. */
export const workflowLimits = named(
  'WorkflowLimits',
  z
    .strictObject({
      maxConcurrentRuns: z
        .int()
        .min(1, 'must be from 1 to 1000')
        .max(1000, 'must be from 1 to 1000')
        .optional()
        .describe('Runs in progress at the same time, 1 to 1,000; no limit when omitted'),
      maxRunsPerMinute: z
        .int()
        .min(1, 'must be from 1 to 100000')
        .max(100_000, 'must be from 1 to 100000')
        .optional()
        .describe('Runs that start within any minute, 1 to 100,000; no limit when omitted'),
      onLimit: z
        .enum(['queue', 'drop', 'replace'], 'must be queue, drop or replace')
        .default('queue')
        .describe(
          '`queue`: the run waits. `drop`: the run is refused (409 `workflow_limit_reached`). `replace`: the runs in progress are cancelled',
        ),
    })
    .refine(
      (limits) => limits.maxConcurrentRuns !== undefined || limits.maxRunsPerMinute !== undefined,
      'give maxConcurrentRuns or maxRunsPerMinute',
    )
    .refine(
      (limits) => limits.onLimit !== 'replace' || limits.maxConcurrentRuns !== undefined,
      'replace needs maxConcurrentRuns',
    ),
  { maxConcurrentRuns: 1, onLimit: 'queue' },
);
export type WorkflowLimits = z.output<typeof workflowLimits>;

/** Schema of the payload of a workflow's runs: a subset of JSON Schema that can be checked in bounded time. */
const workflowInputs = named(
  'WorkflowInputs',
  z
    .custom<WorkflowInputs>()
    .superRefine((value, context) => {
      const object = jsonObject.safeParse(value);
      const problems = object.success ? problemsOfInputs(object.data) : object.error.issues;
      for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message });
    })
    .meta({
      type: 'object',
      description: [
        'JSON Schema of the payload of a run, of type `object`. Supported keywords: `type` (string, number, integer, boolean, array or object; in each schema), `title`, `description`, `default`, `enum`,',
        '`minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `items`, `minItems`, `maxItems`, `properties`, `required` and `additionalProperties` (true or false).',
        'At most 64 KiB, 500 schemas and 8 levels; a `pattern` cannot contain back references or lookarounds.',
        'Payloads of callers are validated (API, dry run, sequence, inbound hook, `subagent.spawn`); payloads of schedules, channels and events are not. Defaults are applied to all of them.',
      ].join(' '),
    }),
  { type: 'object', properties: { city: { type: 'string' } } },
);

export const workflow = named(
  'Workflow',
  z.object({
    id: id.describe('Id of the workflow'),
    name: z.string().describe('Display name, at most 200 characters'),
    active: z.boolean().describe('Whether its trigger starts runs; an inactive workflow cannot be started'),
    triggerJson: trigger,
    stepsJson: z.array(step).describe('Steps in the order in which they run, 1 to 200'),
    version: z.int().min(1).describe('Version, from 1; each change of steps, trigger or limits increments it'),
    limits: workflowLimits.nullable().describe('Limits on its runs; null for none'),
    inputs: workflowInputs.nullable().describe('Schema of the payload of its runs; null for any payload'),
    environment: z
      .enum(['live', 'test'])
      .describe(
        '`test` for a workflow created by an API key of environment `test`: all its runs are test runs until a live key or a user saves it. A test key cannot change or delete a live workflow',
      ),
    createdAt: timestamp,
    updatedAt: timestamp,
    nextRunAt: timestamp.nullable().describe('Next time at which its schedule fires; null without a schedule'),
  }),
);
export type Workflow = z.output<typeof workflow>;

const versionSummaryShape = {
  version: z.int().min(1).describe('Version, from 1; higher is newer'),
  name: z.string().describe('Name of the workflow in this version'),
  savedBy: z
    .string()
    .nullable()
    .meta({ example: 'user:01980000-0000-7000-8000-000000000001' })
    .describe('Who saved it: `user:<id>`, `token:<id>` of an API key, or another actor; null if that is not known'),
  createdAt: timestamp,
};
const workflowVersionSummary = named('WorkflowVersionSummary', z.object(versionSummaryShape));
const workflowVersion = named(
  'WorkflowVersion',
  z.object({
    ...versionSummaryShape,
    stepsJson: z.array(step).describe('Steps of this version, in the order in which they run'),
    inputs: workflowInputs.nullable().describe('Schema of the payload of runs of this version; null for any payload'),
  }),
);
export type WorkflowVersion = z.output<typeof workflowVersion>;

const versionParams = z.strictObject({
  id,
  version: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(2_147_483_647, 'must be at most 2147483647'),
});

const confusedNames = confusedFields({ trigger: 'triggerJson', steps: 'stepsJson' });

const createBody = named(
  'CreateWorkflow',
  z.strictObject(
    {
      name: name.describe('Display name, 1 to 200 characters'),
      active: z.boolean().default(true).describe('Whether the trigger starts runs immediately'),
      triggerJson: trigger.default({ schemaVersion: 1, type: 'manual' }),
      stepsJson: steps.describe('Steps in the order in which they run, 1 to 200'),
      limits: workflowLimits.nullable().optional().describe('Limits on its runs; none when omitted or null'),
      inputs: workflowInputs
        .nullable()
        .optional()
        .describe('Schema of the payload of its runs; any payload when omitted or null'),
    },
    confusedNames,
  ),
  {
    name: 'Late invoices',
    triggerJson: { type: 'webhook', webhook: { token: 'a-long-random-secret' } },
    stepsJson: [
      { type: 'log', message: 'Invoice {{payload.invoice}} is late' },
      { type: 'approval', title: 'Send the reminder?' },
    ],
  },
);

export const runBody = named(
  'RunInput',
  z.strictObject({
    context: text(0, 100_000).optional().describe('Free text for the steps, at most 100,000 characters'),
    payload: jsonObject.optional().describe('Input of the run; steps read it as `{{payload.…}}`'),
  }),
);

/** Preview of a run. */
const dryRun = named(
  'DryRun',
  z.object({
    dryRun: z.literal(true).describe('Always true: no run was started'),
    runnable: z.boolean().describe('Whether no problem is known that would make a step fail'),
    steps: z
      .array(
        z.object({
          index: z.int().describe('Position of the step, from 0'),
          id: z.string().nullable().describe('`id` of the step; null without one'),
          type: z.string().describe('Type of the step, such as `skill`'),
          skillId: z.string().nullable().describe('Skill that the step would call; null for other types of steps'),
          willRun: z
            .enum(['yes', 'no', 'unknown'])
            .describe('Result of `when`; `unknown` when it depends on the output of earlier steps'),
          input: jsonValue.describe(
            'Input of the step. Templates with known values are resolved; others are unchanged',
          ),
          unresolved: z.array(z.string()).describe('References whose values are known only during the run'),
          effect: z.string().describe('Effect of the step, in one sentence'),
          needsApproval: z.boolean().describe('Whether the step requires an approval'),
          problems: z.array(z.string()).describe('Known problems that would make the step fail; may be empty'),
        }),
      )
      .describe('One entry for each step, in the order of the workflow'),
  }),
);
export type DryRun = z.output<typeof dryRun>;

const started = named(
  'StartedRun',
  z.object({
    runId: id.describe('Id of the run that was started'),
    status: z.enum(runStatuses).describe('Status of the run at the time of the response'),
  }),
);
const runAnswer = z.union([started, dryRun]);

/** The started run of a response. @throws TypeError for the response to a dry run. */
export function startedRun(answer: z.output<typeof runAnswer>): z.output<typeof started> {
  if ('dryRun' in answer) throw new TypeError('this was a dry run, which starts none');
  return answer;
}

const list = {
  ...manage,
  permission: 'automations:read',
  method: 'GET',
  summary: 'List workflows',
  description:
    'Newest first, with their steps, without deleted workflows; a page ends early when it would exceed 4 MiB. Only admins and keys with `automations:manage` see webhook tokens.',
  query: listQuery.extend({ active: z.enum(['true', 'false']).optional() }),
  response: page(workflow),
} as const;

const create = {
  ...manage,
  method: 'POST',
  summary: 'Create a workflow',
  description:
    'Every step is validated: an unknown skill, a missing input or an invalid template is a 400 that names the path.',
  body: createBody,
  response: workflow,
  errors: ['workflow_invalid', 'product_not_entitled', 'workspace_limit_reached'],
} as const;

export const workflows = defineResource({
  listAutomationWorkflows: { ...list, path: '/v1/automations/workflows' },
  createAutomationWorkflow: { ...create, path: '/v1/automations/workflows' },
  getAutomationWorkflow: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/workflows/{id}',
    summary: 'Get a workflow',
    description:
      '`ETag` is the version. Send it as `If-Match` with an update: the update is refused if the workflow has changed since.',
    params: idParams,
    response: workflow,
  },
  listAutomationWorkflowVersions: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/workflows/{id}/versions',
    summary: 'List the versions of a workflow',
    description: 'Newest first. The newest 100 versions are retained, plus any version a stored run refers to.',
    params: idParams,
    query: listQuery,
    response: page(workflowVersionSummary),
  },
  getAutomationWorkflowVersion: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/workflows/{id}/versions/{version}',
    summary: 'Get a version of a workflow',
    description:
      'Contains the name, the steps and the inputs; trigger, limits and `active` have no versions. A pruned version is not found.',
    params: versionParams,
    response: workflowVersion,
  },
  restoreAutomationWorkflowVersion: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/workflows/{id}/versions/{version}/restore',
    summary: 'Restore a version of a workflow',
    description:
      'Creates a new version with the name, the steps and the inputs of that version, validated as in any update. Trigger, limits and `active` do not change.',
    params: versionParams,
    ifMatch: 'version_conflict',
    response: workflow,
    errors: ['workflow_invalid', 'product_not_entitled', 'test_key_not_allowed'],
  },
  updateAutomationWorkflow: {
    ...manage,
    method: 'PATCH',
    path: '/v1/automations/workflows/{id}',
    summary: 'Update a workflow',
    description:
      'Creates a new version. Runs in progress keep the version they started with. The newest 100 versions are retained, plus any version a stored run refers to. `ETag` is the new version.',
    ifMatch: 'version_conflict',
    params: idParams,
    body: z
      .strictObject(
        {
          name: name.optional().describe('Display name, 1 to 200 characters'),
          active: z.boolean().optional().describe('Whether its trigger starts runs'),
          triggerJson: trigger.optional(),
          stepsJson: steps.optional().describe('Replaces all steps; 1 to 200'),
          limits: workflowLimits.nullable().optional().describe('Replaces the limits on its runs; null removes them'),
          inputs: workflowInputs
            .nullable()
            .optional()
            .describe('Replaces the schema of the payload; null accepts any payload'),
        },
        confusedNames,
      )
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'must have at least one of name, active, triggerJson, stepsJson, limits, inputs',
      )
      .meta({ example: { active: false } }),
    response: workflow,
    errors: ['workflow_invalid', 'product_not_entitled', 'workspace_limit_reached', 'conflict', 'test_key_not_allowed'],
  },
  deleteAutomationWorkflow: {
    ...manage,
    method: 'DELETE',
    path: '/v1/automations/workflows/{id}',
    summary: 'Delete a workflow',
    description: 'Its runs stay readable. Runs in progress continue to their end.',
    params: idParams,
    response: deleted,
    errors: ['test_key_not_allowed'],
  },
  runAutomationWorkflow: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/workflows/{id}/run',
    summary: 'Run a workflow',
    description:
      'If the workflow has `inputs`, the payload must match them; `details` names each invalid field (`body.payload.city`). With `dryRun=true` nothing runs: the response shows what each step would do, with every template resolved whose value is known before the run.',
    params: idParams,
    query: z.strictObject({ dryRun: z.enum(['true', 'false'], 'must be true or false').default('false') }),
    body: runBody,
    bodyOptional: true,
    response: runAnswer,
    errors: ['workflow_inactive', 'workflow_invalid', 'workflow_limit_reached', 'queued_runs_limit_reached'],
  },
  previewAutomationSchedule: {
    ...manage,
    permission: 'automations:read',
    method: 'POST',
    path: '/v1/automations/schedules/preview',
    summary: 'Preview the next times at which a schedule fires',
    description:
      'Stores and starts nothing. Returns fewer than `count` times if the schedule ends or does not fire that often within 100 years.',
    body: z.strictObject({
      schedule,
      count: z
        .int()
        .min(1, 'must be from 1 to 100')
        .max(100, 'must be from 1 to 100')
        .default(10)
        .describe('Number of times to return, 1 to 100'),
      after: instant.optional().describe('Returns times after this one; now when omitted'),
    }),
    response: z.object({
      fires: z.array(timestamp).describe('Next times at which the schedule fires, earliest first'),
    }),
    errors: ['workflow_invalid'],
  },
  listAutomationsAlias: {
    ...list,
    path: '/v1/automations',
    summary: 'List workflows (alias)',
    description: 'The same as `GET /v1/automations/workflows`.',
  },
  createAutomationAlias: { ...create, path: '/v1/automations', summary: 'Create a workflow (alias)' },
});
