import type { StepStatus } from '../../../shared/contract/automations/run-status.ts';
import { maxAttemptMessage } from '../../../shared/contract/automations/runs.ts';
import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { assertedText } from '../../platform/db/errors.ts';
import { nextFence } from '../../platform/db/fence.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { heapOfText } from '../../platform/process/memory-budget.ts';
import { LeaseLost, StepFailure } from '../failure.ts';
import { runEndsLock } from '../limits/concurrency-queue-locks.ts';
import { runRowsTopic, runTopic } from '../queue/wake-runs.ts';
import type { Visit } from '../queue/working-marks.ts';
import type { RunFailure, StepWait } from '../schema.ts';
import { termColumns } from '../starts/definitions.ts';
import type { RunTerms } from '../starts/definitions.ts';
import { lockRuns } from './run-rows.ts';

/** The statements by which workers read and write runs and their steps. They share the rules about fence token, holder and wake-up. */

export interface StepRow {
  index: number;
  status: StepStatus;
  attempts: number;
  wait: StepWait | null;
  state: JsonObject | null;
  /** Whether the step has a state that was too large to be read with the claim. */
  unread_state?: boolean | null;
  /** Null while only the database has the output. */
  output: JsonValue;
  output_text: string | null;
  output_bytes: number;
  /** Heap that output and text use, in bytes; undefined while only the database has them. */
  heap?: number | undefined;
  error: RunFailure | null;
  started_at: string | null;
}

/** A run as a claim returns it. */
export interface ClaimedRun extends RunTerms {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  workflow_id: string;
  workflow_version: number;
  environment: 'live' | 'test';
  trigger: JsonObject;
  /** Null also while only the database has the context. */
  context: string | null;
  /** Null also while only the database has the payload. */
  payload: JsonObject | null;
  /** Heap that payload and context would use, in bytes, while only the database has them; null otherwise. */
  unread_input: number | null;
  attempt: number;
  next_step: number;
  fence: string;
  /** The process that holds the run. */
  holder_id: string;
  lost_leases: number;
  process_deaths: { step: number; fences: string[] } | null;
  /** Number of wake-ups of the run before this claim. */
  wake_count: number;
  parent_run_id: string | null;
  depth: number;
  requested_by: string[];
  /** The span that accepted the run, as a W3C `traceparent`. */
  trace_parent: string | null;
  queued_at: Date;
  /** Null while a limit or policy delays the start of the run. */
  started_at: Date | null;
  steps: Step[];
  results: StepRow[];
  /** When this process claimed the run, by `performance.now()`. */
  held_since?: number;
  /** Whether the run had not started before this claim. */
  is_unstarted?: boolean;
}

/** The columns that a claim sets, as SQL; $2 is the id of the process (`WorkerLease`). */
export const claimText = `fence = ${nextFence('fence')}, holder_id = $2`;

/** Longest payload, as JSON in UTF-8, that is read when a run is claimed, in bytes. The same holds for the state of a step. */
const claimedBytes = 64 * 1024;

/** Length of payload and context of a run, as SQL, in bytes. */
const inputBytes = '(coalesce(octet_length(payload::text), 0) + coalesce(octet_length(context), 0))';

/** Whether the state of a step is too large to be read with a claim, as SQL. The size on disk is checked first, because the text of many megabytes takes a second. */
const isLargeState = `CASE WHEN pg_column_size(state) > ${claimedBytes / 2} THEN true ELSE octet_length(state::text) > ${claimedBytes} END`;

/** The columns that a claim returns, as SQL; `g` has the terms of workflow and workspace. Large payloads are read when a step needs them. */
export const claimColumns = `id, tenant_id, workflow_id, workflow_version, environment, runs.trigger, CASE WHEN ${inputBytes} <= ${claimedBytes} THEN context END AS context,
         CASE WHEN ${inputBytes} <= ${claimedBytes} THEN payload END AS payload, CASE WHEN ${inputBytes} > ${claimedBytes} THEN ${inputBytes} * ${heapOfText(1)} END AS unread_input, attempt, next_step, fence, holder_id, lost_leases, process_deaths, wake_count, parent_run_id, depth, requested_by, trace_parent, queued_at, started_at,
         g.entitlements, g.pack_id, g.pack_grants, g.approvals_required_for, g.error_workflow_id`;

/**
 * The steps of the run `claimed`, as SQL. Not for a statement that locks or updates a run that the transaction has not locked before:
 * one that rechecks a changed row and contains a scan of a partitioned table, as `run_steps` is, crashes PostgreSQL 18.
 */
export const resultsOfClaimed = `coalesce((SELECT json_agg(s ORDER BY s.index) FROM (
         SELECT index, status, attempts, wait, CASE WHEN index = claimed.next_step AND NOT (${isLargeState}) THEN state END AS state,
           CASE WHEN index = claimed.next_step THEN ${isLargeState} END AS unread_state, NULL AS output, NULL AS output_text, output_bytes, error, started_at
         FROM run_steps WHERE run_id = claimed.id) s), '[]')`;

/** Whether a row of `runs` is a started run that waits without a worker, as SQL. */
export const waitsText = `(status = 'running' AND started_at IS NOT NULL AND waits_for IS NULL AND holder_id IS NULL)`;

/** Claims a run that the transaction has locked and that waits (`waitsText`). Returns null if the run does not wait or its workflow was deleted. */
export async function claimWaitingRun(tx: Transaction, runId: string, holderId: string): Promise<ClaimedRun | null> {
  tx.changed(runRowsTopic(runId));
  const { rows } = await tx.query<ClaimedRun>(
    'claim_waiting_run',
    `WITH claimed AS (
       UPDATE runs SET ${claimText}, wake_at = now()
       FROM (
         SELECT w.id AS gate_id, ${termColumns}
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       ) g
       WHERE runs.id = $1 AND g.gate_id = runs.workflow_id AND ${waitsText}
       RETURNING ${claimColumns}
     )
     SELECT claimed.*, v.steps, ${resultsOfClaimed} AS results
     FROM claimed JOIN workflow_versions v ON v.workflow_id = claimed.workflow_id AND v.version = claimed.workflow_version`,
    [runId, holderId],
  );
  const [claimed] = rows;
  if (claimed === undefined) return null;
  noteWorkspaceChange(tx, claimed.tenant_id);
  return claimed;
}

/**
 * Counts a process that ended while it executed a step, once for each fence token. Does nothing if the run has passed that step. The
 * steps before it may have ended without being written. After two counts the step is not executed again.
 */
export async function countProcessDeath(db: Database, { runId, fence, step }: Visit): Promise<void> {
  await db.system((tx) =>
    tx.query(
      'count_process_death',
      `UPDATE runs SET process_deaths = jsonb_build_object('step', $3::int, 'fences', CASE WHEN (process_deaths->>'step')::int = $3 THEN process_deaths->'fences' ELSE '[]' END || to_jsonb($2::text))
       WHERE id = $1 AND next_step <= $3 AND fence >= $2::bigint AND finished_at IS NULL
         AND NOT coalesce((process_deaths->>'step')::int = $3 AND (process_deaths->'fences') ? $2::text, false)`,
      [runId, fence, step],
    ),
  );
}

/** One claim of a run. Every write of the holder contains it. */
export interface RunClaim {
  runId: string;
  fence: string;
}

export interface StepRecord {
  index: number;
  status: StepStatus;
  attempts: number;
  wait: StepWait | null;
  /** The state of a step with several parts; null for other steps. */
  state: JsonObject | null;
  output: JsonValue;
  outputText: string | null;
  /** Size of output and text, in bytes; 0 if undefined. */
  outputBytes?: number;
  error: RunFailure | null;
  finished: boolean;
}

/** A step that has not ended. */
export const stepUnderWay = (
  index: number,
  attempts: number,
  { status = 'running', wait = null, state = null, error = null }: Partial<StepRecord> = {},
): StepRecord => ({
  index,
  status,
  attempts,
  wait,
  state,
  output: null,
  outputText: null,
  error,
  finished: false,
});

/** The rendered input of a step. It is stored with the next write of the step. */
export interface CalledWith {
  index: number;
  /** As JSON; null if the input is too large or too deeply nested to be stored. */
  text: string | null;
}

/** What writes of a step need besides the step. */
interface StepWriter {
  run: Pick<ClaimedRun, 'id' | 'tenant_id' | 'workflow_id'>;
  working: <Result>(index: number, work: () => Result) => Result;
  /** The input of the step, if this execution rendered it. Otherwise a stored input stays. */
  called: CalledWith | null;
}

/** The start of the current attempt, in a write of an existing step, as SQL. */
export const attemptStartText =
  'attempt_started_at = CASE WHEN excluded.attempts > run_steps.attempts THEN excluded.started_at ELSE run_steps.attempt_started_at END';

const writeStepStatement = `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, wait, output, output_text, error, started_at, finished_at, state, output_bytes, input, input_omitted)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() - make_interval(secs => $15), CASE WHEN $10 THEN least(clock_timestamp(), (SELECT r.finished_at FROM runs r WHERE r.id = $1)) END, $11, $12, $13, $14)
     ON CONFLICT (run_id, index) DO UPDATE SET status = excluded.status, attempts = excluded.attempts, wait = excluded.wait, state = excluded.state, output_bytes = excluded.output_bytes,
       output = excluded.output, output_text = excluded.output_text, error = excluded.error, finished_at = excluded.finished_at,
       input = CASE WHEN excluded.input_omitted IS NULL THEN run_steps.input ELSE excluded.input END, input_omitted = coalesce(excluded.input_omitted, run_steps.input_omitted),
       ${attemptStartText}`;

/**
 * Writes one step. The transaction must have checked the fence token before.
 * @param beganAgo how long before the transaction the step began, in seconds.
 */
export async function writeStep(tx: Transaction, writer: StepWriter, step: StepRecord, beganAgo = 0): Promise<void> {
  noteStepWritten(tx, writer.run);
  await writer.working(step.index, () =>
    tx.query('write_step', writeStepStatement, stepValues(writer, step, beganAgo)),
  );
}

/**
 * Writes the last step of a run, after `advanceRun` ended the run. Returns whether other runs of the workflow may wait for that end: runs
 * are queued by a limit, or a limit exists by which a run may be about to be queued.
 */
export async function writeLastStep(
  tx: Transaction,
  writer: StepWriter,
  step: StepRecord,
  beganAgo: number,
): Promise<{ othersMayWait: boolean }> {
  const { run, working } = writer;
  noteStepWritten(tx, run);
  const write = () =>
    tx.query<{ others_may_wait: boolean }>(
      'write_last_step',
      // This statement follows the one that acquired the lock, so that it sees the limits that an earlier holder of the lock wrote.
      `${writeStepStatement} RETURNING EXISTS (SELECT 1 FROM runs h WHERE h.tenant_id = $3 AND h.workflow_id = $16 AND h.waits_for IS NOT NULL)
         OR EXISTS (SELECT 1 FROM workflows w WHERE w.id = $16 AND (w.limits ? 'maxConcurrentRuns' OR w.trigger->'schedule'->>'overlap' = 'queue')) AS others_may_wait`,
      [...stepValues(writer, step, beganAgo), run.workflow_id],
    );
  const { rows } = await working(step.index, write);
  return { othersMayWait: rows[0]?.others_may_wait === true };
}

function noteStepWritten(tx: Transaction, run: StepWriter['run']): void {
  tx.changed(runRowsTopic(run.id));
  noteWorkspaceChange(tx, run.tenant_id);
}

const stepValues = ({ run, called }: StepWriter, step: StepRecord, beganAgo: number) => [
  run.id,
  step.index,
  run.tenant_id,
  step.status,
  step.attempts,
  json(step.wait),
  json(step.output),
  step.outputText,
  json(step.error),
  step.finished,
  json(step.state),
  step.outputBytes ?? 0,
  ...calledValues(called, step.index),
  beganAgo,
];

const calledValues = (called: CalledWith | null, index: number) =>
  called?.index === index ? [called.text, called.text === null] : [null, null];

/** Seconds since a time by `performance.now()`. */
export const secondsSince = (at: number): number => (performance.now() - at) / 1000;

/** A failed attempt that another attempt follows. Times are by `performance.now()`. */
export interface FailedAttempt {
  index: number;
  attempt: number;
  error: RunFailure;
  /** Start of the last execution. Also the start of the attempt, unless the attempt was suspended before. */
  beganAt: number;
  endedAt: number;
}

/** The attempt as it is stored, without its times. */
const keptAttempt = ({ attempt, error: { code, message } }: FailedAttempt) =>
  JSON.stringify({ attempt, error: { code, message: message.slice(0, maxAttemptMessage).toWellFormed() } });

/** The attempts of the row `run_steps` with one more, unless the row has that attempt, as SQL. */
const withAttempt = (entry: string, attempt: string, beganAt: string) =>
  `CASE WHEN run_steps.retried_attempts @> jsonb_build_array(jsonb_build_object('attempt', ${attempt})) THEN run_steps.retried_attempts
       ELSE coalesce(run_steps.retried_attempts, '[]') || (${entry} || jsonb_build_object('startedAt', CASE WHEN run_steps.attempts < ${attempt} THEN ${beganAt}
         WHEN ${attempt} = 1 THEN run_steps.started_at ELSE coalesce(run_steps.attempt_started_at, ${beganAt}) END)) END`;

/** Stores a failed attempt and lets the step wait for the next one. The transaction must have checked the fence token before. */
export async function writeRetry(tx: Transaction, writer: StepWriter, failed: FailedAttempt): Promise<void> {
  const { run, called } = writer;
  noteStepWritten(tx, run);
  const write = () =>
    tx.query(
      'write_retry',
      `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, wait, error, started_at, retried_attempts, input, input_omitted)
     VALUES ($1, $2, $3, 'running', $4, '{"kind":"retry"}', $5, statement_timestamp() - make_interval(secs => $6),
       jsonb_build_array($8::jsonb || jsonb_build_object('startedAt', (statement_timestamp() - make_interval(secs => $6))::timestamptz(3), 'finishedAt', (statement_timestamp() - make_interval(secs => $7))::timestamptz(3))), $9, $10)
     ON CONFLICT (run_id, index) DO UPDATE SET status = excluded.status, attempts = excluded.attempts, wait = excluded.wait, state = NULL, output_bytes = 0, output = NULL, output_text = NULL,
       error = excluded.error, finished_at = NULL,
       input = CASE WHEN excluded.input_omitted IS NULL THEN run_steps.input ELSE excluded.input END, input_omitted = coalesce(excluded.input_omitted, run_steps.input_omitted),
       retried_attempts = ${withAttempt('(excluded.retried_attempts->0)', 'excluded.attempts', 'excluded.started_at')}, ${attemptStartText}`,
      [
        run.id,
        failed.index,
        run.tenant_id,
        failed.attempt,
        JSON.stringify(failed.error),
        secondsSince(failed.beganAt),
        secondsSince(failed.endedAt),
        keptAttempt(failed),
        ...calledValues(called, failed.index),
      ],
    );
  await writer.working(failed.index, write);
}

export interface RunAdvance {
  /**
   * The step that the run must have reached in the database. When the run is at an earlier step, a crash of the database has undone commits
   * of this holder: the holder releases the run, and the next holder repeats the steps.
   */
  fromStep: number;
  nextStep: number;
  /** The status in which the run ends; null if the run continues. */
  ends: 'succeeded' | 'failed' | null;
  error: RunFailure | null;
}

/** Wakes callers that wait for the end of the run, after the commit. */
export function noteEnd(tx: Transaction, runId: string, { ends }: Pick<RunAdvance, 'ends'>): void {
  if (ends !== null) tx.changed(runTopic(runId));
}

/**
 * Moves a claimed run to its next step, or ends it. The end locks the limits of the workflow against changes until the commit.
 * @throws LeaseLost when the claim is no longer valid.
 */
export async function advanceRun(tx: Transaction, { runId, fence }: RunClaim, advance: RunAdvance): Promise<void> {
  tx.changed(runRowsTopic(runId));
  noteEnd(tx, runId, advance);
  const { rowCount } = await tx.query(
    'advance_run',
    `UPDATE runs SET next_step = $3, lost_leases = CASE WHEN holder_id IS NULL AND $4::text IS NULL THEN 1 ELSE 0 END, error = $5, status = coalesce($4, status),
       finished_at = CASE WHEN $4 IS NULL THEN NULL ELSE clock_timestamp() END,
       wake_at = CASE WHEN $4 IS NULL THEN wake_at END,
       holder_id = CASE WHEN $4 IS NULL THEN holder_id END
     WHERE id = $1 AND fence = $2 AND status = 'running' AND next_step BETWEEN $6 AND $3
     RETURNING CASE WHEN $4::text IS NOT NULL THEN pg_advisory_xact_lock_shared(${runEndsLock('workflow_id')}) END`,
    [runId, fence, advance.nextStep, advance.ends, json(advance.error), advance.fromStep],
  );
  if (rowCount !== 1)
    throw new LeaseLost('the run was taken over, cancelled or ended, or lost steps to a crash of the database');
}

/**
 * Whether a write of the same claim, whose acknowledgement was lost, has already moved the run to this step. Locks the run first, because
 * that write may not be committed yet.
 */
export async function hasAdvanced(tx: Transaction, { runId, fence }: RunClaim, advance: RunAdvance): Promise<boolean> {
  await lockRuns(tx, [runId]);
  const { rows } = await tx.query(
    'has_advanced',
    'SELECT 1 FROM runs WHERE id = $1 AND fence = $2 AND next_step = $3 AND status = $4',
    [runId, fence, advance.nextStep, advance.ends ?? 'running'],
  );
  if (rows.length === 0) return false;
  // The event of that write was lost with its acknowledgement.
  noteEnd(tx, runId, advance);
  return true;
}

/**
 * Whether a run waits already, by an earlier `suspendRun` of the same claim whose acknowledgement was lost. Locks the run first, because that
 * write may not be committed yet. A run that `repairRuns` has freed has a count of lost leases.
 */
export async function isSuspended(tx: Transaction, { runId, fence }: RunClaim): Promise<boolean> {
  await lockRuns(tx, [runId]);
  const { rows } = await tx.query(
    'is_suspended',
    'SELECT 1 FROM runs WHERE id = $1 AND fence = $2 AND holder_id IS NULL AND lost_leases = 0 AND finished_at IS NULL',
    [runId, fence],
  );
  return rows.length > 0;
}

/** Whether a step has this state already, by a write of the same claim whose acknowledgement was lost. Locks the run first, because that write may not be committed yet. */
export async function isStepState(
  tx: Transaction,
  { runId, fence }: RunClaim,
  index: number,
  state: JsonObject,
): Promise<boolean> {
  await lockRuns(tx, [runId]);
  const { rows } = await tx.query(
    'is_step_state',
    'SELECT 1 FROM runs r JOIN run_steps s ON s.run_id = r.id WHERE r.id = $1 AND r.fence = $2 AND s.index = $3 AND s.state = $4::jsonb',
    [runId, fence, index, JSON.stringify(state)],
  );
  return rows.length > 0;
}

/**
 * Stores a failed attempt and lets the step wait for the next one. The stored state of the step and the wait of its open call stay.
 * Returns false if the step has no row yet.
 */
export async function keepStateForRetry(
  tx: Transaction,
  run: StepWriter['run'],
  failed: FailedAttempt,
): Promise<boolean> {
  noteStepWritten(tx, run);
  const { rowCount } = await tx.query(
    'keep_state_for_retry',
    `UPDATE run_steps SET status = 'running', attempts = $3, error = $4, finished_at = NULL,
       wait = jsonb_strip_nulls(jsonb_build_object('kind', 'retry', 'of', CASE wait->>'kind' WHEN 'retry' THEN wait->'of' WHEN 'delay' THEN NULL ELSE wait END)),
       retried_attempts = ${withAttempt(`($5::jsonb || jsonb_build_object('finishedAt', (statement_timestamp() - make_interval(secs => $7))::timestamptz(3)))`, '$3::int', '(statement_timestamp() - make_interval(secs => $6))::timestamptz(3)')},
       attempt_started_at = CASE WHEN attempts < $3 THEN statement_timestamp() - make_interval(secs => $6) ELSE attempt_started_at END
     WHERE run_id = $1 AND index = $2`,
    [
      run.id,
      failed.index,
      failed.attempt,
      JSON.stringify(failed.error),
      keptAttempt(failed),
      secondsSince(failed.beganAt),
      secondsSince(failed.endedAt),
    ],
  );
  return rowCount === 1;
}

interface SuspendedUntil {
  /** The step that waits; the run must have reached it, as for `RunAdvance.fromStep`. */
  step: number;
  status: 'running' | 'waiting_approval';
  /** When the run continues without a wake-up, in seconds; null for never. */
  wakeInSeconds: number | null;
}

const suspendText = `UPDATE runs SET holder_id = NULL, lost_leases = 0,
       status = CASE WHEN wake_count = $5 THEN $3 ELSE 'running' END,
       wake_at = CASE WHEN wake_count <> $5 THEN now() WHEN $4::float8 IS NULL THEN NULL ELSE now() + make_interval(secs => $4::float8) END,
       wake_count = wake_count + CASE WHEN wake_count = $5 THEN 0 ELSE 1 END
     WHERE id = $1 AND fence = $2 AND status = 'running' AND next_step = $6 RETURNING wake_count`;

const suspendValues = (
  { runId, fence }: RunClaim,
  { wake_count: wakeCount }: Pick<ClaimedRun, 'wake_count'>,
  { step, status, wakeInSeconds }: SuspendedUntil,
) => [runId, fence, status, wakeInSeconds, wakeCount, step];

/** As `suspendRun`, pipelined. Fails the transaction, as `isAssertionFailed` recognises, if the claim is lost or the run was woken. */
export async function suspendPipelined(
  tx: Transaction,
  claim: RunClaim,
  claimed: Pick<ClaimedRun, 'wake_count'>,
  until: SuspendedUntil,
): Promise<void> {
  await tx.query(
    'suspend_run_at_once',
    `WITH suspended AS (${suspendText}) SELECT ${assertedText('count(*) FILTER (WHERE wake_count = $5) = 1')} FROM suspended`,
    suspendValues(claim, claimed, until),
  );
}

/**
 * Suspends a claimed run, so that it waits without a worker. A run that was woken since its claim becomes due immediately, because the
 * result that it would wait for may have arrived.
 * @throws LeaseLost when the claim is no longer valid.
 */
export async function suspendRun(
  tx: Transaction,
  claim: RunClaim,
  claimed: Pick<ClaimedRun, 'tenant_id' | 'wake_count'>,
  until: SuspendedUntil,
): Promise<void> {
  const { rows } = await tx.query<{ wake_count: number }>(
    'suspend_run',
    suspendText,
    suspendValues(claim, claimed, until),
  );
  const row = rows[0];
  if (row === undefined) throw new LeaseLost('the run was taken over, cancelled or ended');
  if (row.wake_count !== claimed.wake_count) tx.wakeWorkers(claimed.tenant_id);
}

/**
 * Releases a claimed run, so that a worker can claim it after the given time. The fence token changes, so later writes of this claim fail.
 * @throws LeaseLost when the claim is no longer valid.
 */
export async function releaseRun(
  tx: Transaction,
  { runId, fence }: RunClaim,
  tenantId: string,
  afterSeconds: number,
  { isUnstarted = false }: { isUnstarted?: boolean } = {},
): Promise<void> {
  const { rowCount } = await tx.query(
    'release_run',
    `UPDATE runs SET fence = ${nextFence('fence')}, holder_id = NULL, wake_at = CASE WHEN $3::float8 = 0 THEN greatest(least(wake_at, now()), now() - interval '30 seconds') ELSE now() + make_interval(secs => $3::float8) END, wake_count = wake_count + 1,
       status = CASE WHEN $4 THEN 'queued' ELSE status END, started_at = CASE WHEN $4 THEN NULL ELSE started_at END
     WHERE id = $1 AND fence = $2 AND (status = 'running' OR status = 'queued' AND holder_id IS NOT NULL)`,
    [runId, fence, afterSeconds, isUnstarted],
  );
  if (rowCount !== 1) throw new LeaseLost('the run was taken over, cancelled or ended');
  // Workers find runs that become due later by themselves.
  if (afterSeconds <= 1) tx.wakeWorkers(tenantId);
}

/** The key of one call of a skill: an attempt of a step, or one tool call of an agent step. */
export interface CallKey {
  runId: string;
  stepIndex: number;
  attempt: number;
  /** 0 for the step itself. */
  call: number;
}

/** The intent of a call with an effect. */
export interface Intent extends CallKey {
  /** A new id for each declaration. It distinguishes an intent of this worker whose commit was not acknowledged from one of another worker. */
  declarationId: string;
  skillId: string;
  kind: 'keyed' | 'once';
}

/** Whether the effects ledger has the intent and the receipt of a call. */
export async function readEffect(tx: Transaction, key: CallKey): Promise<'none' | 'intent' | 'receipt'> {
  const { rows } = await tx.query<{ done: boolean }>(
    'read_effect',
    'SELECT receipt_at IS NOT NULL AS done FROM effects WHERE run_id = $1 AND step_index = $2 AND attempt = $3 AND call = $4',
    [key.runId, key.stepIndex, key.attempt, key.call],
  );
  const row = rows[0];
  if (row === undefined) return 'none';
  return row.done ? 'receipt' : 'intent';
}

/** Whether the effects ledger has an intent. The intent of a `once` call counts only if this declaration wrote it. */
export async function hasDeclared(tx: Transaction, intent: Intent): Promise<boolean> {
  const { rows } = await tx.query(
    'has_declared',
    `SELECT 1 FROM effects WHERE run_id = $1 AND step_index = $2 AND attempt = $3 AND call = $4 AND ($5 = 'keyed' OR declaration_id = $6)`,
    [intent.runId, intent.stepIndex, intent.attempt, intent.call, intent.kind, intent.declarationId],
  );
  return rows.length > 0;
}

/**
 * Inserts an intent into the effects ledger. The transaction must have checked the fence token before. The intent of a `keyed` call may exist.
 * @throws StepFailure `outcome_unknown` when another worker inserted the intent of a `once` call.
 */
export async function writeIntent(tx: Transaction, tenantId: string, intent: Intent): Promise<void> {
  const { runId, stepIndex, attempt, call, skillId, kind, declarationId } = intent;
  const { rowCount } = await tx.query(
    'write_intent',
    'INSERT INTO effects (run_id, step_index, attempt, call, tenant_id, skill_id, kind, declaration_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (run_id, step_index, attempt, call) DO NOTHING',
    [runId, stepIndex, attempt, call, tenantId, skillId, kind, declarationId],
  );
  if (rowCount === 1 || (await hasDeclared(tx, intent))) return;
  throw inDoubt(skillId, await readEffect(tx, intent));
}

/** Why a `once` call is not made: its intent or its receipt exists. */
export const inDoubt = (skillId: string, effect: 'none' | 'intent' | 'receipt'): StepFailure =>
  new StepFailure(
    'outcome_unknown',
    effect === 'receipt'
      ? `${skillId} was carried out for this call before, and its result was lost; it is not carried out again. Look at what it did before you retry.`
      : `The worker died while ${skillId} was under way; find out what happened before you retry.`,
    { retryable: false },
  );

/** Adds the receipt to an intent. */
export async function writeReceipt(tx: Transaction, key: CallKey): Promise<void> {
  await tx.query(
    'write_receipt',
    'UPDATE effects SET receipt_at = now() WHERE run_id = $1 AND step_index = $2 AND attempt = $3 AND call = $4',
    [key.runId, key.stepIndex, key.attempt, key.call],
  );
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
