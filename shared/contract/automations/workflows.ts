import { z } from 'zod';
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
import { workflowInputs } from './workflow-inputs.ts';

const tag = 'Workflows';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

/** How many runs of a workflow there may be, and what becomes of one too many. */
export const workflowLimits = named(
  'WorkflowLimits',
  z
    .strictObject({
      maxConcurrentRuns: z
        .int()
        .min(1, 'must be from 1 to 1000')
        .max(1000, 'must be from 1 to 1000')
        .optional()
        .describe('Runs in progress at the same time, 1 to 1,000; no limit when left out'),
      maxRunsPerMinute: z
        .int()
        .min(1, 'must be from 1 to 100000')
        .max(100_000, 'must be from 1 to 100000')
        .optional()
        .describe('Runs that begin within any minute'),
      onLimit: z
        .enum(['queue', 'drop', 'replace'], 'must be queue, drop or replace')
        .default('queue')
        .describe(
          '`queue` lets it wait for its turn, `drop` refuses it (409 `workflow_limit_reached`), `replace` cancels what is under way',
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

export const workflow = named(
  'Workflow',
  z.object({
    id: id.describe('Id of the workflow'),
    name: z.string().describe('Label for people, at most 200 characters'),
    active: z.boolean().describe('Whether its trigger starts runs; an inactive workflow can not be started'),
    triggerJson: trigger,
    stepsJson: z.array(step).describe('Steps in the order in which they run, 1 to 200'),
    version: z.int().min(1).describe('Version, from 1; each change of steps, trigger or limits adds one'),
    limits: workflowLimits.nullable().describe('Limits on its runs; null for none'),
    inputs: workflowInputs.nullable().describe('Which payload its runs take; null for any'),
    environment: z
      .enum(['live', 'test'])
      .describe(
        '`test` for a workflow that an API key of environment `test` created: all its runs are test runs until a live key or a user saves it. A test key cannot change or delete a live workflow',
      ),
    createdAt: timestamp,
    updatedAt: timestamp,
    nextRunAt: timestamp.nullable().describe('When its schedule fires next; null without one'),
  }),
);
export type Workflow = z.output<typeof workflow>;

const versionSummaryShape = {
  version: z.int().min(1).describe('Version, from 1; higher is newer'),
  name: z.string().describe('Name of the workflow in this version'),
  createdAt: timestamp,
};
const workflowVersionSummary = named('WorkflowVersionSummary', z.object(versionSummaryShape));
const workflowVersion = named(
  'WorkflowVersion',
  z.object({
    ...versionSummaryShape,
    stepsJson: z.array(step).describe('Steps of this version, in the order in which they run'),
    inputs: workflowInputs.nullable().describe('Which payload runs of this version take; null for any'),
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
      name: name.describe('Label for people, 1 to 200 characters'),
      active: z.boolean().default(true).describe('Whether the trigger starts runs from the beginning'),
      triggerJson: trigger.default({ schemaVersion: 1, type: 'manual' }),
      stepsJson: steps.describe('Steps in the order in which they run, 1 to 200'),
      limits: workflowLimits.nullable().optional().describe('Limits on its runs; none when left out or null'),
      inputs: workflowInputs.nullable().optional().describe('Which payload its runs take; any when left out or null'),
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

/** What a run would do. */
const dryRun = named(
  'DryRun',
  z.object({
    dryRun: z.literal(true).describe('Always true: no run was started'),
    runnable: z.boolean().describe('Whether every step could run as far as can be told now'),
    steps: z
      .array(
        z.object({
          index: z.int().describe('Position of the step, from 0'),
          id: z.string().nullable().describe('`id` of the step; null without one'),
          type: z.string().describe('Type of the step, such as `skill`'),
          skillId: z.string().nullable().describe('Skill that the step would call; null for other types of steps'),
          willRun: z
            .enum(['yes', 'no', 'unknown'])
            .describe('What `when` says; unknown when it depends on what earlier steps bring'),
          input: jsonValue.describe('With every template resolved whose value is known; the others stand as they are'),
          unresolved: z.array(z.string()).describe('References whose value only the run will know'),
          effect: z.string().describe('What the step would do to the world, in a sentence'),
          needsApproval: z.boolean().describe('Whether a person must approve before the step runs'),
          problems: z.array(z.string()).describe('What would make the step fail; empty when nothing is known'),
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
    status: z.enum(runStatuses).describe('Status of the run when the answer was written'),
  }),
);
const runAnswer = z.union([started, dryRun]);

/** What a caller that asked for no dry run was answered: the run. @throws TypeError for a dry run. */
export function startedRun(answer: z.output<typeof runAnswer>): z.output<typeof started> {
  if ('dryRun' in answer) throw new TypeError('this was a dry run, which starts none');
  return answer;
}

const list = {
  ...manage,
  permission: 'automations:read',
  method: 'GET',
  summary: 'List workflows',
  query: listQuery.extend({ active: z.enum(['true', 'false']).optional() }),
  response: page(workflow),
} as const;

const create = {
  ...manage,
  method: 'POST',
  summary: 'Create a workflow',
  description:
    "Every step is checked here: an unknown skill, a missing input or a template that can't work is a 400 that names the path.",
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
    summary: 'Read a workflow',
    description:
      '`ETag` is its version; a change that sends it as `If-Match` is refused when somebody changed it meanwhile.',
    params: idParams,
    response: workflow,
  },
  listAutomationWorkflowVersions: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/workflows/{id}/versions',
    summary: 'List the versions of a workflow',
    description: 'Newest first: the newest 100, and those that runs have.',
    params: idParams,
    query: listQuery,
    response: page(workflowVersionSummary),
  },
  getAutomationWorkflowVersion: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/workflows/{id}/versions/{version}',
    summary: 'Read a version of a workflow',
    params: versionParams,
    response: workflowVersion,
  },
  restoreAutomationWorkflowVersion: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/workflows/{id}/versions/{version}/restore',
    summary: 'Restore a version of a workflow',
    description:
      'Makes a new version with the name, the steps and the inputs of that one, checked as in any change; trigger, limits and whether it is active stay.',
    params: versionParams,
    ifMatch: 'version_conflict',
    response: workflow,
    errors: ['workflow_invalid', 'product_not_entitled', 'test_key_not_allowed'],
  },
  updateAutomationWorkflow: {
    ...manage,
    method: 'PATCH',
    path: '/v1/automations/workflows/{id}',
    summary: 'Change a workflow',
    description:
      'Makes a new version; runs that have begun keep theirs. Of older ones the newest 100 stay, and those that runs have. `ETag` is the new version.',
    ifMatch: 'version_conflict',
    params: idParams,
    body: z
      .strictObject(
        {
          name: name.optional().describe('Label for people, 1 to 200 characters'),
          active: z.boolean().optional().describe('Whether its trigger starts runs'),
          triggerJson: trigger.optional(),
          stepsJson: steps.optional().describe('Replaces all steps; 1 to 200'),
          limits: workflowLimits.nullable().optional().describe('Replaces the limits on its runs; null removes them'),
          inputs: workflowInputs.nullable().optional().describe('Replaces the schema of the payload; null accepts any'),
        },
        confusedNames,
      )
      .refine(
        (body) => Object.values(body).some((value) => value !== undefined),
        'give at least one of name, active, triggerJson, stepsJson, limits, inputs',
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
    description: 'Its runs stay readable; those under way go on to their end.',
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
      'A workflow with `inputs` takes a payload that fits them; `details` name each part that does not (`body.payload.city`). With `dryRun=true` nothing is done: the answer says what each step would do, with its templates resolved as far as they can be before the run.',
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
    summary: 'The next fires of a schedule',
    body: z.strictObject({
      schedule,
      count: z
        .int()
        .min(1, 'must be from 1 to 100')
        .max(100, 'must be from 1 to 100')
        .default(10)
        .describe('Number of fires to answer, 1 to 100'),
      after: instant.optional().describe('Now when left out'),
    }),
    response: z.object({
      fires: z.array(timestamp).describe('Next times at which the schedule fires, earliest first'),
    }),
    errors: ['workflow_invalid'],
  },
  listAutomationsAlias: { ...list, path: '/v1/automations', summary: 'List workflows (alias)' },
  createAutomationAlias: { ...create, path: '/v1/automations', summary: 'Create a workflow (alias)' },
});
