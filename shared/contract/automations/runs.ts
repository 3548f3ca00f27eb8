import { z } from 'zod';
import { jsonObject, jsonValue } from '../../json.ts';
import { id, idParams, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { nodeCommandStatuses } from '../nodes/device.ts';
import { approvalDecider, approvalStatuses } from './approvals.ts';
import { runStatuses, stepStatuses } from './run-status.ts';
import type { RunStatus } from './run-status.ts';
import { runWait } from './run-wait.ts';
import { stepRetry } from './steps.ts';

const tag = 'Runs';
const manage = { tag, callers: ['token', 'session'], permission: 'automations:manage', role: 'agent' } as const;

/** Why a run or a step failed; `code` is stable, `message` is human-readable. */
export const failure = named(
  'Failure',
  z.object({
    code: z.string().describe('Stable code of the failure, for programs'),
    message: z.string().describe('Human-readable message: what went wrong and what to do'),
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
    note: z.string().nullable().describe('Reason given with the decision; null without one'),
  }),
);

const stepCommand = named(
  'StepCommand',
  z.object({
    id: id.describe('Id of the command'),
    nodeId: id.describe('Node that executes the command'),
    type: z.string().meta({ example: 'node.ping' }).describe('Type of the command, such as `node.ping`'),
    attempt: z.int().describe('Attempt of the step that sent the command, from 1'),
    status: z
      .enum(nodeCommandStatuses)
      .describe('`leased`: the device has it; `withdrawn`: the run no longer needs it'),
    createdAt: timestamp,
    finishedAt: timestamp.nullable(),
    error: z
      .object({
        code: z.string().describe('Stable code, for programs'),
        message: z.string().describe('Human-readable message: what went wrong'),
      })
      .nullable()
      .describe('Why the command failed; null unless it failed'),
  }),
);

/** Maximum characters of the message in a `StepAttempt`. */
export const maxAttemptMessage = 500;

const stepAttempt = named(
  'StepAttempt',
  z.object({
    attempt: z.int().describe('Number of the attempt, from 1'),
    startedAt: timestamp.nullable().describe('Null if an earlier release executed the attempt'),
    finishedAt: timestamp
      .nullable()
      .describe('Null while the attempt is in progress, and if an earlier release executed it'),
    error: z
      .object({
        code: z.string().describe('Stable code, for programs'),
        message: z.string().describe(`Human-readable message, at most ${maxAttemptMessage} characters`),
      })
      .nullable()
      .describe('Why the attempt failed; null otherwise'),
    commandIds: z.array(id).describe('Ids of its node commands in `commands`, oldest first'),
  }),
);

/** Maximum characters of a text in an `AgentTurn`. */
export const maxTurnCharacters = 2_000;

/** An answer of the model of an agent step. */
export const agentTurn = named(
  'AgentTurn',
  z.object({
    text: z.string().describe('First 2,000 characters of the answer of the model'),
    textLength: z.int().describe('Length of the whole answer in characters'),
    model: z.string().meta({ example: 'gpt-5' }).describe('Model that answered, as its provider names it'),
    latencyMs: z.number().describe('Time until the answer was complete, in milliseconds'),
    answeredAt: timestamp.nullable().describe('Time of the answer; null for a turn of an earlier release'),
    usage: z
      .object({
        inputTokens: z.number().describe('Tokens of the request'),
        outputTokens: z.number().describe('Tokens of the answer'),
      })
      .describe('Tokens of this turn'),
    calls: z
      .array(
        z.object({
          skillId: z.string().describe('Skill that the model called; it may not exist'),
          status: z.enum(['pending', 'succeeded', 'failed']).describe('`pending` until the skill has ended'),
          error: z
            .object({
              code: z.string().describe('Stable code, for programs'),
              message: z.string().describe('Human-readable message, at most 500 characters'),
            })
            .nullable()
            .describe('Why the call failed; null unless it failed'),
        }),
      )
      .describe('Skills that the model called in this turn, in order'),
    problems: z
      .array(z.string().meta({ example: 'TOOL_CALL:memory.read needs a JSON object.' }))
      .describe('What was wrong with the answer, as the model was told'),
    isFinal: z.boolean().describe('Whether the answer ends the step'),
  }),
);
export type AgentTurn = z.output<typeof agentTurn>;

export const stepResult = named(
  'StepResult',
  z.object({
    index: z.int().describe('Position of the step in the workflow, from 0'),
    id: z.string().nullable().describe('`id` of the step in the workflow; null without one'),
    name: z.string().nullable().describe('Display name of the step; null without one'),
    type: z.string().describe('Type of the step: `skill`, `log`, `approval`, `agent` or `deliver`'),
    skillId: z.string().nullable().describe('Skill that the step calls; null for other types of steps'),
    status: z
      .enum(stepStatuses)
      .describe('`skipped` when its `when` was false; `waiting_approval` until a person decides'),
    when: z.string().nullable().describe('Condition of the step, as a template; null without one'),
    retry: stepRetry
      .required()
      .nullable()
      .describe('Retry policy of the step; null when the policy of its skill applies'),
    timeoutSeconds: z.number().nullable().describe('Timeout of each attempt, in seconds; null when the step sets none'),
    attempts: z.int().describe('Attempts so far, including the first'),
    attemptHistory: z
      .array(stepAttempt)
      .describe('One entry for each attempt so far, the first one first: its times, its error and its node commands'),
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
    input: jsonValue
      .nullable()
      .describe(
        'Input of the last attempt, with templates resolved: the input of the skill, the title and message of an approval, or the prompt of an agent. Null before the first attempt and when `inputOmitted` is true',
      ),
    inputOmitted: z
      .boolean()
      .describe('Whether `input` is omitted because it exceeds 65,536 bytes as JSON or nests too deeply'),
    output: jsonValue.nullable().describe('Output of the step as JSON; null until it has one'),
    outputText: z.string().nullable().describe('Output of the step as text; null until it has one'),
    outputBytes: z
      .int()
      .describe('Size of `output` and `outputText` in bytes, also when `include` omits them; 0 without output'),
    turns: z
      .array(agentTurn)
      .nullable()
      .describe(
        'Turns of an agent step so far, oldest first, with texts cut. A single step always has them. A run and its events have them only with `turns` in `include`, and only for a step that has not finished. Null otherwise',
      ),
    error: failure.nullable().describe('Why the last attempt failed; null otherwise'),
    approval: stepApproval.nullable().describe('Latest approval that the step requested in this run; null without one'),
    childRunId: id
      .nullable()
      .describe('Newest run that the step started and waits for or waited for; null without one'),
    commands: z
      .array(stepCommand)
      .describe(
        'Node commands of all attempts, oldest first, including those of an earlier run whose result is kept; the newest 1,000 of a run',
      ),
    artifactIds: z
      .array(id)
      .describe(
        'Artifacts of its node commands, oldest first, including those of failed attempts and of an earlier run whose result is kept; the newest 1,000 of a run',
      ),
  }),
);
export type StepResult = z.output<typeof stepResult>;

export const runArtifact = named(
  'RunArtifact',
  z.object({
    id: id.describe('Id of the artifact'),
    name: z.string().describe('File name that the node gave it'),
    contentType: z.string().meta({ example: 'image/png' }).describe('Media type that the node declared'),
    bytes: z.int().describe('Size in bytes'),
    width: z.int().nullable().describe('Width in pixels, as the node reported it; null when it reported none'),
    height: z.int().nullable().describe('Height in pixels, as the node reported it; null when it reported none'),
    stepIndex: z.int().describe('Index of the step whose command brought it, from 0'),
    nodeId: id.describe('Node that sent it'),
    commandId: id.describe('Command whose result contained it'),
    createdAt: timestamp,
  }),
);

const runSummaryShape = {
  id: id.describe('Id of the run'),
  workflowId: id.describe('Workflow that the run executes'),
  workflowName: z.string().describe('Current name of the workflow'),
  workflowVersion: z.int().describe('Version of the workflow that the run executes, from 1'),
  flowId: id.describe('Flow that the run and its retries share'),
  status: z
    .enum(runStatuses)
    .describe(
      '`waiting_approval` until a person decides; `succeeded`, `failed` and `cancelled` are final unless the run is retried',
    ),
  waitsFor: runWait
    .nullable()
    .describe('Why the run waits; null while a worker executes it or is about to, and after it has ended'),
  trigger: z
    .object({
      type: z
        .string()
        .meta({ example: 'schedule' })
        .describe('Type of the trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel`'),
    })
    .catchall(jsonValue)
    .describe(
      'What started the run; fields besides `type` depend on the type. A retry and a replay keep the trigger of the first attempt; `ranAgainBy` is the caller, such as `user:<id>` or `token:<id>`',
    ),
  attempt: z.int().describe('Number of the attempt within its flow, from 1; each retry adds one'),
  environment: z
    .enum(['live', 'test'])
    .describe('Environment of the key or trigger that started the run; `test` runs send no messages'),
  parentRunId: id.nullable().describe('Run whose step started this run and waits for it; null without one'),
  depth: z.int().describe('Number of ancestor runs: each was started by the one before'),
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

/** Filters of a list of runs, of its estimate, and of operations on all runs that match. */
const runFilters = {
  status: z.enum(runStatuses).optional(),
  statuses: z
    .string()
    .regex(
      new RegExp(`^(?:${runStatuses.join('|')})(?:,(?:${runStatuses.join('|')})){0,9}$`),
      `must be one or more of ${runStatuses.join(', ')}, separated by commas`,
    )
    .meta({ example: 'failed,cancelled' })
    .optional()
    .describe('Only runs in one of these statuses, separated by commas'),
  workflowId: id.optional().describe('Only runs of this workflow'),
  from: instant.optional().describe('Queued at this time or later'),
  to: instant.optional().describe('Queued before this time'),
  parentRunId: id.optional().describe('Only runs that a step of this run started'),
  idPrefix: z
    .string()
    .regex(/^[0-9a-fA-F][0-9a-fA-F-]{3,35}$/, 'must be the first 4 to 36 characters of a UUID')
    .meta({ example: '01980000-0000-7' })
    .optional()
    .describe('Only runs whose id starts with these characters, 4 to 36'),
  triggerType: text(1, 50)
    .meta({ example: 'schedule' })
    .optional()
    .describe('Only runs with this type of trigger, such as `manual` or `schedule`'),
  environment: z.enum(['live', 'test']).optional().describe('Only runs of this environment'),
  nodeId: id.optional().describe('Only runs that sent a command to this node'),
  latest: z
    .enum(['true', 'false'])
    .optional()
    .describe('With `true`, only the latest run of each flow: runs that were retried or replayed are left out'),
  errorCode: text(1, 100).meta({ example: 'step_failed' }).optional().describe('Only failed runs with this error code'),
};

/** Maximum number of runs in one bulk operation. */
export const maxBulkRuns = 100;

/** Body of a bulk operation: selects runs by id, or the newest runs that match a filter. */
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
            ...runFilters,
            status: z
              .enum(statuses, `must be one of ${statuses.join(', ')}`)
              .optional()
              .describe('Only runs in this status; in all of these statuses when omitted'),
            olderThan: id.optional().describe('`next` of the previous response'),
          })
          .optional()
          .describe(
            'Selects the newest runs that match; give either `ids` or `filter`. It takes the filters of the list of runs. Runs in a status that `status` does not accept are never selected',
          ),
        limit: z
          .int(`must be from 1 to ${maxBulkRuns}`)
          .min(1, `must be from 1 to ${maxBulkRuns}`)
          .max(maxBulkRuns, `must be from 1 to ${maxBulkRuns}`)
          .default(maxBulkRuns)
          .describe('With a filter: maximum number of runs in this request, the newest first'),
      })
      .refine((body) => (body.ids === undefined) !== (body.filter === undefined), {
        message: 'must be given unless filter is given, and not together with it',
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
          runId: id.optional().describe('Current run: the new run of a retry, otherwise the run itself'),
          code: z.string().optional().describe('Error code, for programs'),
          message: z.string().optional().describe('Human-readable error message'),
        }),
      )
      .describe('One entry for each run, in the order of `ids`; with a filter, newest first'),
    more: z.boolean().describe('Whether older runs can match the filter'),
    next: id
      .nullable()
      .describe('Send it as `filter.olderThan` to continue, also when `results` is empty; null at the end'),
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

const include = z
  .string()
  .max(100)
  .default('inputs,outputs')
  .transform((list) => (list === '' ? [] : list.split(',')))
  .pipe(
    z.array(z.enum(['inputs', 'outputs', 'turns'], 'must be inputs, outputs, turns, or several separated by commas')),
  )
  .describe(
    'Large parts of the run, separated by commas: `inputs` (`context`, `payload` and the input of each step), `outputs` (the output of each step) and `turns` (the turns of an agent step that has not finished). Omitted parts are null. An empty text omits all',
  );

export const runs = defineResource({
  listAutomationRuns: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs',
    summary: 'List runs',
    description:
      'Newest first, without inputs and step results. Get a single run to read those. With `triggerType`, `environment`, `nodeId` or `errorCode`, one request examines at most 10,000 of the runs that the other filters select. Its page can then have fewer rows than `limit`, or none: follow `meta.nextCursor` until it is null.',
    query: listQuery.extend(runFilters),
    response: page(runSummary),
  },
  estimateAutomationRuns: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/run-estimate',
    summary: 'Estimate the number of runs',
    description:
      'Takes the filters of the list of runs. The number is exact if the filters without `triggerType`, `environment`, `nodeId` and `errorCode` select fewer than 10,000 runs. Otherwise it is an estimate from statistics of the database.',
    query: z.strictObject(runFilters),
    response: named(
      'RunEstimate',
      z.object({
        count: z.int().min(0).describe('Number of runs that match'),
        isExact: z.boolean().describe('Whether the number was counted; false for an estimate'),
      }),
    ),
  },
  cancelAutomationRuns: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/cancel',
    summary: 'Cancel multiple runs',
    description:
      'Cancels the runs in `ids`, or the newest runs that match `filter`, each independently. A run that cannot be cancelled is reported with its reason and does not affect the others. With `triggerType`, `environment`, `nodeId`, `latest` or `errorCode`, one request examines at most 10,000 of the runs that the other filters select: continue with `next` until it is null.',
    body: bulkBody('CancelRuns', ['queued', 'running', 'waiting_approval']),
    response: bulkAnswer,
  },
  retryAutomationRuns: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/retry',
    summary: 'Retry multiple failed or cancelled runs',
    description:
      'Retries the runs in `ids`, or the newest runs that match `filter`, each independently and from the first step that did not succeed. A run that cannot be retried is reported with its reason and does not affect the others. A filter skips runs that were already retried. Continue with `next`, so that runs that fail again are not retried forever. With `triggerType`, `environment`, `nodeId`, `latest` or `errorCode`, one request examines at most 10,000 of the runs that the other filters select.',
    body: bulkBody('RetryRuns', ['failed', 'cancelled']),
    response: bulkAnswer,
  },
  getAutomationRun: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}',
    summary: 'Get a run with its step results',
    description:
      'Lists all steps of the workflow version of the run; those that have not started are `pending`. When the time of `waitSeconds` is over, the response has the current state.',
    params: idParams,
    query: z.strictObject({
      waitSeconds: z.coerce
        .number()
        .min(0, 'must be from 0 to 30')
        .max(30, 'must be from 0 to 30')
        .default(0)
        .describe('Seconds to wait until the run has ended or waits for an approval, 0 to 30'),
      include,
    }),
    response: run,
    maxOpenSeconds: 30,
  },
  getAutomationRunStep: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}/steps/{index}',
    summary: 'Get a step result of a run',
    description: 'Returns the step with its input, its output and its turns, which `include` can omit from the run.',
    params: idParams.extend({
      index: z.coerce
        .number()
        .int()
        .min(0, 'must be from 0 to 199')
        .max(199, 'must be from 0 to 199')
        .describe('Position of the step in the workflow, from 0'),
    }),
    response: stepResult,
  },
  listAutomationRunArtifacts: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}/artifacts',
    summary: 'List the artifacts of a run',
    description:
      'Newest first: the artifacts in `artifactIds` of its steps. Download the content with `/v1/automations/artifacts/{id}`.',
    params: idParams,
    query: listQuery,
    response: page(runArtifact),
  },
  cancelAutomationRun: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/{id}/cancel',
    summary: 'Cancel a run',
    description: 'A running step is aborted. A command that a node executes is cancelled.',
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
      'Creates a new run in the same flow. It starts at the first step that did not succeed, or at `fromStep`, and keeps earlier outputs. It has the environment of the original run. A key of environment `test` can retry only test runs.',
    params: idParams,
    query: z.strictObject({
      fromStep: z.coerce.number().int().min(0).max(199).optional().describe('Index of the first step to run, 0 to 199'),
    }),
    response: run,
    errors: ['run_not_retryable', 'workflow_invalid', 'queued_runs_limit_reached', 'test_key_not_allowed'],
  },
  replayAutomationRun: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/runs/{id}/replay',
    summary: 'Replay an ended run from any step',
    description:
      'Creates a new run in the same flow, whatever the final status of the run, with the same version and input unless `workflowVersion` or `payload` is given, which needs an active workflow. Steps before `fromStep` keep their outputs. The environment is the same as for a retry.',
    params: idParams,
    body: z.strictObject({
      fromStep: z.int().min(0).max(199).default(0).describe('Index of the first step to run, 0 to 199'),
      payload: jsonObject
        .optional()
        .describe(
          'Input instead of that of the run. It must match the `inputs` of the version. Steps before `fromStep` keep their outputs, which came from the earlier input',
        ),
      workflowVersion: z
        .int()
        .min(1)
        .max(2_147_483_647)
        .optional()
        .describe(
          'The current version of the workflow, instead of the version of the run. Its steps before `fromStep` must be the same',
        ),
    }),
    bodyOptional: true,
    response: run,
    errors: [
      'run_not_retryable',
      'workflow_inactive',
      'workflow_invalid',
      'queued_runs_limit_reached',
      'test_key_not_allowed',
    ],
  },
  streamAutomationRun: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/runs/{id}/events',
    summary: 'Stream a run',
    description:
      'Server-sent events: `step` with the step result after each change of a step, and `run` with the run after each change of its status, starting with `queued`. The stream closes when the run has ended, at the latest after 10 minutes. The last `run` event of an ended run has the id `ended`. A client that reconnects with this `Last-Event-ID` gets 204, so that an EventSource stops. If the key loses access, the stream sends `end` with the reason.',
    params: idParams,
    query: z.strictObject({ include }),
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
    summary: 'Start workflows by hook',
    description:
      'With `workflowId`, starts that workflow: any active one with an API key, the matching one with `X-Service-Automation-Token`. With `event` alone, starts every active webhook workflow that the key or token gives access to and whose trigger lists the event or lists no events, at most 100. If two workspaces use the same token, a call without `workflowId` starts the workflows of the workspace that had it first. A repeated `idempotencyKey` within 24 hours returns the first run with `duplicate: true`; its scope is the workflow, or with `event` alone the key or token and the event. The payload must match the `inputs` of every workflow that it starts; otherwise none is started.',
    body: z
      .strictObject({
        workflowId: id.optional().describe('Workflow to start; give either `workflowId` or `event`'),
        event: text(1, 200)
          .optional()
          .describe('Starts every active webhook workflow that accepts this event; at most 200 characters'),
        context: text(0, 100_000).optional().describe('Free text for the steps, at most 100,000 characters'),
        payload: jsonObject.optional().describe('Input of the run; steps read it as `{{payload.…}}`'),
        idempotencyKey: text(1, 255).optional().describe('A repeated key starts no second run; 1 to 255 characters'),
      })
      .refine((body) => body.workflowId !== undefined || body.event !== undefined, {
        message: 'is required when event is missing',
        path: ['workflowId'],
      })
      .meta({ example: { event: 'invoice.late', payload: { invoice: 42 }, idempotencyKey: 'invoice-42-late' } }),
    response: z.object({
      runId: id.describe('Id of the run, or of the first of several'),
      status: z.enum(runStatuses).describe('Status of the run at the time of the response'),
      runIds: z.array(id).optional().describe('Ids of all runs, if several workflows were started'),
      duplicate: z
        .literal(true)
        .optional()
        .describe('True if the key was used before; the run is then the earlier one'),
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
