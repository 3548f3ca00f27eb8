import { z } from 'zod';
import { jsonObject, jsonValue } from '../../json.ts';
import { id, idParams, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { approvalDecider, approvalStatuses } from './approvals.ts';
import { runStatuses, stepStatuses } from './run-status.ts';
import type { RunStatus } from './run-status.ts';
import { runWait } from './run-wait.ts';

const tag = 'Runs';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

/** Why a run or a step failed; `code` is stable, `message` is for people. */
export const failure = named(
  'Failure',
  z.object({
    code: z.string().describe('Stable code of the failure, for programs'),
    message: z.string().describe('What went wrong and what to do, for people'),
    stepIndex: z.int().optional().describe('Index of the step that failed, from 0; missing when no step failed'),
  }),
);

const stepApproval = named(
  'StepApproval',
  z.object({
    id: id.describe('Id of the approval'),
    status: z.enum(approvalStatuses).describe('`pending` until it is decided or expires'),
    decider: approvalDecider.nullable().describe('Who or what decided; null while pending'),
    decidedAt: timestamp.nullable(),
    note: z.string().nullable().describe('Reason that the decider gave; null without one'),
  }),
);

export const stepResult = named(
  'StepResult',
  z.object({
    index: z.int().describe('Position of the step in the workflow, from 0'),
    id: z.string().nullable().describe('`id` of the step in the workflow; null without one'),
    type: z.string().describe('Type of the step: `skill`, `log`, `approval`, `agent` or `deliver`'),
    skillId: z.string().nullable().describe('Skill that the step calls; null for other types of steps'),
    status: z
      .enum(stepStatuses)
      .describe('`skipped` when its `when` was false; `waiting_approval` until a person decides'),
    attempts: z.int().describe('Tries so far, the first included'),
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    input: jsonValue
      .nullable()
      .describe(
        'What it was called with, its templates filled in: the input of its skill, the title and message of an approval, the prompt of an agent; of several tries the last. Null before it was called, and where `inputOmitted` says so',
      ),
    inputOmitted: z
      .boolean()
      .describe('Whether the input was left out: it takes up more than 65536 bytes as JSON, or nests too deeply'),
    output: jsonValue.nullable().describe('Output of the step as JSON; null until it has one'),
    outputText: z.string().nullable().describe('The output as text; null until there is one'),
    error: failure.nullable().describe('Why the last try failed; null otherwise'),
    approval: stepApproval.nullable().describe('The latest approval that the step asked for in this run'),
    artifactIds: z
      .array(id)
      .describe(
        'Artefacts that its commands to nodes brought, oldest first, also those of failed tries and of an earlier attempt whose result is kept; the newest 1000 of a run',
      ),
  }),
);
export type StepResult = z.output<typeof stepResult>;

const runSummaryShape = {
  id: id.describe('Id of the run'),
  workflowId: id.describe('Workflow that the run executes'),
  workflowName: z.string().describe('What its workflow is called now'),
  workflowVersion: z.int().describe('Version of the workflow that the run executes, from 1'),
  flowId: id.describe('Flow that the run and its retries share'),
  status: z
    .enum(runStatuses)
    .describe(
      '`waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried',
    ),
  waitsFor: runWait
    .nullable()
    .describe('Why it does not go on now; null while a worker has it or is about to, and once it has ended'),
  trigger: z
    .object({
      type: z
        .string()
        .meta({ example: 'schedule' })
        .describe('Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel`'),
    })
    .catchall(jsonValue)
    .describe('What started the run; fields besides `type` depend on the type'),
  attempt: z.int().describe('Number of the attempt within its flow, from 1; each retry adds one'),
  environment: z
    .enum(['live', 'test'])
    .describe('Environment of the key or trigger that started the run; in `test` nothing leaves the platform'),
  parentRunId: id.nullable().describe('The run whose step waits for this one'),
  depth: z.int().describe('How many runs, each started by the one before, led to this one'),
  error: failure.nullable().describe('Why the run failed; null unless it failed'),
  queuedAt: timestamp,
  startedAt: timestamp.nullable(),
  finishedAt: timestamp.nullable(),
};

/** A run without its inputs and step results. */
export const runSummary = named('RunSummary', z.object(runSummaryShape));
export type RunSummary = z.output<typeof runSummary>;

export const run = named(
  'Run',
  z.object({
    ...runSummaryShape,
    context: z
      .string()
      .nullable()
      .describe('Free text given at the start, at most 100,000 characters; null without one'),
    payload: jsonObject.nullable().describe('Input of the run as JSON; null without one'),
    stepsResultJson: z.array(stepResult).describe('One entry for each step, in the order of the workflow'),
  }),
);
export type Run = z.output<typeof run>;

/** Runs that one bulk operation takes on, at most. */
export const maxBulkRuns = 100;

/** What a bulk operation is about: runs by their ids, or the newest that a filter means. */
const bulkBody = <Statuses extends readonly [RunStatus, ...RunStatus[]]>(schemaName: string, statuses: Statuses) =>
  named(
    schemaName,
    z
      .strictObject({
        ids: z
          .array(id)
          .min(1, 'must name at least one run')
          .max(maxBulkRuns, `must name at most ${maxBulkRuns} runs`)
          .optional()
          .describe('Runs by id, 1 to 100; give either `ids` or `filter`'),
        filter: z
          .strictObject({
            workflowId: id.optional().describe('Only runs of this workflow; runs of every workflow when left out'),
            status: z
              .enum(statuses, `must be one of ${statuses.join(', ')}`)
              .optional()
              .describe('Any of these when left out'),
            from: instant.optional().describe('Queued at this time or later'),
            to: instant.optional().describe('Queued before this time'),
            olderThan: id.optional().describe('`next` of the answer before'),
          })
          .optional()
          .describe('Selects the newest runs that match; give either `ids` or `filter`'),
        limit: z
          .int(`must be from 1 to ${maxBulkRuns}`)
          .min(1, `must be from 1 to ${maxBulkRuns}`)
          .max(maxBulkRuns, `must be from 1 to ${maxBulkRuns}`)
          .default(maxBulkRuns)
          .describe('Of a filter: runs that are taken on at once, the newest first'),
      })
      .refine((body) => (body.ids === undefined) !== (body.filter === undefined), {
        message: 'must be given unless filter is, and not beside it',
        path: ['ids'],
      })
      .meta({ example: { filter: { status: statuses[0] } } }),
  );

const bulkAnswer = named(
  'BulkRunsAnswer',
  z.object({
    results: z
      .array(
        z.object({
          id: id.describe('Id of the run that was named or selected'),
          ok: z.boolean().describe('Whether the operation succeeded for this run'),
          runId: id.optional().describe('The run that there is now: the new attempt of a retry, else the run itself'),
          code: z.string().optional().describe('Why not, for programs'),
          message: z.string().optional().describe('Why not, for people'),
        }),
      )
      .describe('One for each run, in the order of `ids`; of a filter, the newest first'),
    more: z.boolean().describe('Whether the filter means more runs, which are older'),
    next: id.nullable().describe('Give it as `filter.olderThan` to go on'),
  }),
  {
    results: [
      { id: '01980000-0000-7000-8000-000000000004', ok: true, runId: '01980000-0000-7000-8000-000000000005' },
      {
        id: '01980000-0000-7000-8000-000000000006',
        ok: false,
        code: 'not_found',
        message: 'There is no run 01980000-0000-7000-8000-000000000006 in this workspace.',
      },
    ],
    more: false,
    next: null,
  },
);

export const runs = defineResource({
  listAutomationRuns: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs',
    summary: 'List runs',
    description: 'Newest first, without their inputs and step results; read those with one run.',
    query: listQuery.extend({
      status: z.enum(runStatuses).optional(),
      workflowId: id.optional(),
      from: instant.optional().describe('Queued at this time or later'),
      to: instant.optional().describe('Queued before this time'),
    }),
    response: page(runSummary),
  },
  cancelAutomationRuns: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/cancel',
    summary: 'Cancel several runs',
    description:
      'Those of `ids`, or the newest that a `filter` means; each as if it were cancelled alone. One that can not be cancelled is answered with its reason, and keeps no other from it.',
    body: bulkBody('CancelRuns', ['queued', 'running', 'waiting_approval']),
    response: bulkAnswer,
  },
  retryAutomationRuns: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/retry',
    summary: 'Retry several failed or cancelled runs',
    description:
      'Those of `ids`, or the newest that a `filter` means; each from the first step that did not succeed, as if it were retried alone. One that can not be retried is answered with its reason, and keeps no other from it; a filter leaves out those that were run again already. Go on with `next`, so that what fails again is not retried for ever.',
    body: bulkBody('RetryRuns', ['failed', 'cancelled']),
    response: bulkAnswer,
  },
  getAutomationRun: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}',
    summary: 'Read a run with its step results',
    params: idParams,
    query: z.strictObject({
      waitSeconds: z.coerce
        .number()
        .min(0, 'must be from 0 to 30')
        .max(30, 'must be from 0 to 30')
        .default(0)
        .describe('Hold the answer until the run has ended or waits for an approval'),
    }),
    response: run,
    maxOpenSeconds: 30,
  },
  cancelAutomationRun: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/{id}/cancel',
    summary: 'Cancel a run',
    description: 'A running step is aborted; a command that a node is working on is withdrawn.',
    params: idParams,
    response: run,
    errors: ['run_not_cancellable', 'test_key_not_allowed'],
  },
  retryAutomationRun: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/{id}/retry',
    summary: 'Retry a failed or cancelled run',
    description:
      'A new run of the same flow that begins at the first step that did not succeed, or at `fromStep`; earlier outputs are kept. The new run has the environment of the first one. A key of environment `test` retries test runs only.',
    params: idParams,
    query: z.strictObject({
      fromStep: z.coerce.number().int().min(0).max(199).optional().describe('Index of the step to begin with'),
    }),
    response: run,
    errors: ['run_not_retryable', 'workflow_invalid', 'queued_runs_limit_reached', 'test_key_not_allowed'],
  },
  replayAutomationRun: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/{id}/replay',
    summary: 'Run an ended run again from any step',
    description:
      'A new run of the same flow with the same version and inputs, whatever the run ended as; the steps before `fromStep` keep their outputs. Its environment is that of a retry.',
    params: idParams,
    body: z.strictObject({
      fromStep: z.int().min(0).max(199).default(0).describe('Index of the step to begin with, 0 to 199'),
    }),
    bodyOptional: true,
    response: run,
    errors: ['run_not_retryable', 'workflow_invalid', 'queued_runs_limit_reached', 'test_key_not_allowed'],
  },
  streamAutomationRun: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}/events',
    summary: 'Follow a run live',
    description:
      'Server-sent events: `step` with a step result whenever one changes, `run` with the run whenever its status changes, first as it was `queued`; the stream closes once the run has ended, and after 10 minutes at most. The last `run` of an ended run has the id `ended`: a reader that comes back with it as `Last-Event-ID` gets 204, so that an EventSource stops; `end` says why when it ends with the right of its key.',
    params: idParams,
    response: z.unknown(),
    binaryResponse: 'text/event-stream',
    maxOpenSeconds: 600,
  },
});

export const hooks = defineResource({
  inboundAutomationHook: {
    tag: 'Inbound hook',
    callers: ['hook'],
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/hooks/inbound',
    summary: 'Start workflows from outside',
    description:
      'Three ways in: an API key with `workflowId` (any active workflow); `X-Service-Automation-Token` with `workflowId`; or either with `event` alone, which starts every active webhook workflow that the key or the token opens (100 at most). A token that two workspaces chose opens, without `workflowId`, the workflows of the one that had it first. `event` starts those whose trigger names it, or names no events. The same `idempotencyKey` within 24 hours answers the first run with `duplicate: true`: it counts for the workflow of `workflowId`, or, with `event` alone, for the key or token of the caller and this event. The payload must fit the `inputs` of every workflow that it starts, or none is started.',
    body: z
      .strictObject({
        workflowId: id.optional().describe('Workflow to start; give either `workflowId` or `event`'),
        event: text(1, 200)
          .optional()
          .describe('Starts every active webhook workflow that accepts this event; at most 200 characters'),
        context: text(0, 100_000).optional().describe('Free text for the steps, at most 100,000 characters'),
        payload: jsonObject.optional().describe('Input of the run; steps read it as `{{payload.…}}`'),
        idempotencyKey: text(1, 255).optional().describe('The same key starts a workflow once; 1 to 255 characters'),
      })
      .refine((body) => body.workflowId !== undefined || body.event !== undefined, {
        message: 'give workflowId or event',
        path: ['workflowId'],
      })
      .meta({ example: { event: 'invoice.late', payload: { invoice: 42 }, idempotencyKey: 'invoice-42-late' } }),
    response: z.object({
      runId: id.describe('Id of the run, or of the first of several'),
      status: z.enum(runStatuses).describe('Status of the run when the answer was written'),
      runIds: z.array(id).optional().describe('When several workflows were started'),
      duplicate: z.literal(true).optional().describe('True when the key was used before: the run is the earlier one'),
    }),
    errors: [
      'webhook_token_mismatch',
      'workflow_inactive',
      'workflow_invalid',
      'workflow_limit_reached',
      'queued_runs_limit_reached',
      'product_not_entitled',
      'not_found',
    ],
    ipLimit: 'hook',
  },
});
