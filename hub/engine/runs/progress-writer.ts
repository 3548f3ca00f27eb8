import { LRUCache } from 'lru-cache';
import { Batcher } from '../../platform/db/batcher.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { assertedText, isAssertionFailed } from '../../platform/db/errors.ts';
import { pipelineCommit } from '../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { writeSinkRows } from '../calls/row-sink.ts';
import { runEndsLock } from '../limits/concurrency-queue-locks.ts';
import { runRowsTopic } from '../queue/wake-runs.ts';
import type { SinkRow } from '../skill.ts';
import { attemptStartText, noteEnd } from './store.ts';
import type { CallKey, CalledWith, RunClaim, Intent, RunAdvance, StepRecord } from './store.ts';

/** A step that has ended, or that is about to make a call with an effect. Times are by `performance.now()`. */
export interface DoneStep {
  record: StepRecord;
  called: CalledWith | null;
  beganAt: number;
  endedAt: number;
  rows: readonly SinkRow[];
  /** The call whose intent the step completes; null for a call without an effect. */
  receipt: CallKey | null;
}

/** The progress of a run since its last write. */
export interface Progress extends RunClaim {
  workflowId: string;
  advance: RunAdvance;
  steps: readonly DoneStep[];
  /** Intents of the calls with an effect that follow the commit. */
  intents: readonly Intent[];
  /** Whether the commit waits until the data is on disk. */
  durable: boolean;
}

interface Item {
  progress: Progress;
  /** The steps as JSON, without the times, which are relative to the write. */
  texts: string[];
}

/**
 * Runs of these workflows may wait for the end of a run. A batch does not wait for the locks of concurrency queues, so such an end is
 * written in a transaction of its own.
 */
class QueuedRunsWait extends Error {
  readonly workflowIds: readonly string[];
  constructor(workflowIds: readonly string[]) {
    super('other runs wait for the end of a run');
    this.workflowIds = workflowIds;
  }
}

/** After a `QueuedRunsWait`, ends of runs of the workflow are not batched for this time, in milliseconds. */
const unbatchedMs = 5_000;

/**
 * Writes the progress of the runs of a workspace in batches, one transaction each. A batch waits for no lock. It does not write a run
 * that another transaction has locked, nor the end of a run for which other runs may wait. Their callers write those.
 */
export class ProgressWriter {
  readonly #batches: Batcher<Item, boolean>;
  /** Workflows whose ends of runs are not batched for now. */
  readonly #unbatched = new LRUCache<string, true>({ max: 10_000, ttl: unbatchedMs });

  constructor(db: Database) {
    this.#batches = new Batcher({
      flush: (tenantId, items) => writeAll(db, tenantId, items, (workflowId) => this.#unbatched.set(workflowId, true)),
      bytesOf: ({ texts }) => texts.reduce((sum, text) => sum + text.length, 0),
    });
  }

  /**
   * Resolves to true when all of the progress is committed, and to false when nothing of it is written.
   * @throws DatabaseOutage when it is unknown whether the progress is written; other errors when it is not.
   */
  async write(tenantId: string, progress: Progress): Promise<boolean> {
    if (progress.advance.ends !== null && this.#unbatched.has(progress.workflowId)) return false;
    const texts = progress.steps.map(({ record, called }) => {
      const { wait, state, output, error } = record;
      const input = called?.index === record.index ? called : null;
      return `"run_id":"${progress.runId}","index":${record.index},"status":"${record.status}","attempts":${record.attempts},"finished":${record.finished},"output_bytes":${record.outputBytes ?? 0},"wait":${JSON.stringify(wait)},"state":${JSON.stringify(state)},"output":${JSON.stringify(output)},"output_text":${JSON.stringify(record.outputText)},"error":${JSON.stringify(error)},"input":${input?.text ?? 'null'},"input_omitted":${input === null ? 'null' : input.text === null}`;
    });
    return this.#batches.add(tenantId, { progress, texts });
  }
}

/** Writes the items that it can. Returns for each item whether it is written. */
async function writeAll(
  db: Database,
  tenantId: string,
  items: readonly Item[],
  onQueuedRuns: (workflowId: string) => void,
): Promise<boolean[]> {
  const unbatched: string[] = [];
  for (;;) {
    const rest = items.filter(
      ({ progress: { advance, workflowId } }) => advance.ends === null || !unbatched.includes(workflowId),
    );
    try {
      const written = rest.length === 0 ? new Set<string>() : await writeTogether(db, tenantId, rest);
      return items.map((item) => rest.includes(item) && written.has(item.progress.runId));
    } catch (error) {
      if (!(error instanceof QueuedRunsWait)) throw error;
      for (const workflowId of error.workflowIds) onQueuedRuns(workflowId);
      unbatched.push(...error.workflowIds);
    }
  }
}

/** Returns the ids of the runs that were written: those with the given fence token that no transaction has locked. @throws QueuedRunsWait when nothing was written. */
async function writeTogether(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
  try {
    return await writePipelined(db, tenantId, items);
  } catch (error) {
    if (!isAssertionFailed(error)) throw error;
    return writeUnblocked(db, tenantId, items);
  }
}

/** Writes all items in one round trip. @throws an error that `isAssertionFailed` recognises when one item cannot be written, or other runs may wait for its end. */
function writePipelined(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
  const all = items.map(({ progress }) => progress);
  return db.workspace(
    tenantId,
    async (tx) => {
      const writes = [
        tx.query(
          'advance_all_runs',
          advanceText(`SELECT ${assertedText('count(*) FILTER (WHERE is_free) = $2')} FROM advanced`),
          [advancesOf(all), all.length],
        ),
        ...writesOf(tx, tenantId, items),
      ];
      const ended = endedWorkflows(all);
      if (ended.length > 0)
        writes.push(
          tx.query(
            'assert_no_lines',
            `SELECT ${assertedText(`NOT EXISTS (${workflowsWithQueueText})`)}`,
            queueValues(tenantId, ended),
          ),
        );
      pipelineCommit(tx);
      await Promise.all(writes);
      return new Set(all.map(({ runId }) => runId));
    },
    { durable: items.some(({ progress }) => progress.durable) },
  );
}

/** Finds the items that can be written first, and writes only those. @throws QueuedRunsWait when nothing was written. */
function writeUnblocked(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
  return db.workspace(
    tenantId,
    async (tx) => {
      const all = items.map(({ progress }) => progress);
      // Another worker wrote the intents of these runs. Their callers find the reason.
      const declared = await findDeclared(tx, all);
      const advanced = await advanceUnlocked(
        tx,
        all.filter(({ runId }) => !declared.has(runId)),
      );
      // The steps of locked runs are not written: the foreign key of a step would wait for the lock of its run.
      const unlocked = items.filter(({ progress }) => advanced.has(progress.runId));
      if (unlocked.length === 0) return advanced;
      const ended = endedWorkflows(unlocked.map(({ progress }) => progress));
      const [waitedFor] = await Promise.all([
        ended.length === 0 ? [] : findWorkflowsWithQueue(tx, tenantId, ended),
        ...writesOf(tx, tenantId, unlocked),
      ]);
      if (waitedFor.length > 0) throw new QueuedRunsWait(waitedFor);
      return advanced;
    },
    { durable: items.some(({ progress }) => progress.durable) },
  );
}

const endedWorkflows = (all: readonly Progress[]) => [
  ...new Set(all.flatMap(({ advance, workflowId }) => (advance.ends === null ? [] : [workflowId]))),
];

/** The pipelined statements that follow the update of the runs. */
function writesOf(tx: Transaction, tenantId: string, items: readonly Item[]): Promise<unknown>[] {
  noteWorkspaceChange(tx, tenantId);
  for (const { progress } of items) {
    tx.changed(runRowsTopic(progress.runId));
    noteEnd(tx, progress.runId, progress.advance);
  }
  const all = items.map(({ progress }) => progress);
  return [
    writeSteps(tx, tenantId, items),
    writeReceipts(
      tx,
      all.flatMap(({ steps }) => steps.flatMap(({ receipt }) => receipt ?? [])),
    ),
    writeIntents(
      tx,
      tenantId,
      all.flatMap(({ intents }) => intents),
    ),
    writeSinkRows(
      tx,
      all.flatMap(({ steps }) => steps.flatMap(({ rows }) => rows)),
    ),
  ];
}

/**
 * Moves runs to their next step, or ends them. The end of a run locks the limits of its workflow against changes until the commit. The
 * statement can find the runs only by their ids: a plan made while there were few runs would otherwise read all runs of a workspace.
 * @param answer the end of the statement, which returns the result of `advanced`.
 */
const advanceText = (answer: string) => `WITH given AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, fence bigint, from_step int, next_step int, ends text, error jsonb)
     ), free AS MATERIALIZED (
       SELECT held.id FROM given g CROSS JOIN LATERAL (
         SELECT r.id FROM runs r WHERE r.id = g.id AND r.fence = g.fence AND r.next_step BETWEEN g.from_step AND g.next_step AND r.status || '' = 'running' FOR NO KEY UPDATE SKIP LOCKED) held
     ), advanced AS (
     UPDATE runs r SET next_step = g.next_step, lost_leases = CASE WHEN r.holder_id IS NULL AND g.ends IS NULL THEN 1 ELSE 0 END, error = g.error, status = coalesce(g.ends, r.status),
       finished_at = CASE WHEN g.ends IS NULL THEN NULL ELSE now() END,
       wake_at = CASE WHEN g.ends IS NULL THEN r.wake_at END,
       holder_id = CASE WHEN g.ends IS NULL THEN r.holder_id END
     FROM given g WHERE r.id = ANY(ARRAY(SELECT id FROM free)) AND g.id = r.id
     RETURNING r.id, r.workflow_id, CASE WHEN g.ends IS NULL THEN true ELSE pg_try_advisory_xact_lock_shared(${runEndsLock('r.workflow_id')}) END AS is_free
     ) ${answer}`;

const advancesOf = (all: readonly Progress[]) =>
  JSON.stringify(
    all.map(({ runId, fence, advance }) => ({
      id: runId,
      fence,
      from_step: advance.fromStep,
      next_step: advance.nextStep,
      ends: advance.ends,
      error: advance.error,
    })),
  );

/** Returns the ids of the runs that it moved to their next step or ended. @throws QueuedRunsWait */
async function advanceUnlocked(tx: Transaction, all: readonly Progress[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string; workflow_id: string; is_free: boolean }>(
    'advance_runs',
    advanceText('SELECT id, workflow_id, is_free FROM advanced'),
    [advancesOf(all)],
  );
  // Another transaction changes the limits of these workflows, and looks for runs that can start.
  const changing = rows.flatMap(({ workflow_id: workflowId, is_free: isFree }) => (isFree ? [] : [workflowId]));
  if (changing.length > 0) throw new QueuedRunsWait([...new Set(changing)]);
  return new Set(rows.map(({ id }) => id));
}

async function writeSteps(tx: Transaction, tenantId: string, items: readonly Item[]): Promise<void> {
  const now = performance.now();
  const texts = items.flatMap(({ progress, texts: parts }) =>
    progress.steps.map(
      ({ beganAt, endedAt }, index) =>
        `{"began_ago":${((now - beganAt) / 1000).toFixed(6)},"ended_ago":${((now - endedAt) / 1000).toFixed(6)},${parts[index]}}`,
    ),
  );
  if (texts.length === 0) return;
  await tx.query(
    'write_steps',
    `INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, wait, output, output_text, error, started_at, finished_at, state, output_bytes, input, input_omitted)
     SELECT run_id, index, $1, status, attempts, wait, output, output_text, error, now() - make_interval(secs => began_ago), CASE WHEN finished THEN now() - make_interval(secs => ended_ago) END,
       state, output_bytes, input, input_omitted
     FROM jsonb_to_recordset($2::jsonb) AS g(run_id uuid, index int, status text, attempts int, wait jsonb, output jsonb, output_text text, error jsonb, began_ago float8, ended_ago float8, finished boolean,
       state jsonb, output_bytes int, input jsonb, input_omitted boolean)
     ON CONFLICT (run_id, index) DO UPDATE SET status = excluded.status, attempts = excluded.attempts, wait = excluded.wait, state = excluded.state, output_bytes = excluded.output_bytes,
       output = excluded.output, output_text = excluded.output_text, error = excluded.error, finished_at = excluded.finished_at,
       input = CASE WHEN excluded.input_omitted IS NULL THEN run_steps.input ELSE excluded.input END, input_omitted = coalesce(excluded.input_omitted, run_steps.input_omitted),
       ${attemptStartText}`,
    [tenantId, `[${texts.join(',')}]`],
  );
}

/** Completes intents. */
async function writeReceipts(tx: Transaction, receipts: readonly CallKey[]): Promise<void> {
  if (receipts.length === 0) return;
  await tx.query(
    'write_receipts',
    `UPDATE effects e SET receipt_at = now() FROM jsonb_to_recordset($1::jsonb) AS g("runId" uuid, "stepIndex" int, attempt int, call int)
     WHERE e.run_id = g."runId" AND e.step_index = g."stepIndex" AND e.attempt = g.attempt AND e.call = g.call`,
    [JSON.stringify(receipts)],
  );
}

/**
 * Inserts intents into the effects ledger. The intent of a `keyed` call may exist already. Fails the transaction, as `isAssertionFailed`
 * recognises, when the intent of a `once` call exists.
 */
async function writeIntents(tx: Transaction, tenantId: string, intents: readonly Intent[]): Promise<void> {
  if (intents.length === 0) return;
  await tx.query(
    'write_intents',
    `WITH written AS (
       INSERT INTO effects (run_id, step_index, attempt, call, tenant_id, skill_id, kind, declaration_id)
       SELECT "runId", "stepIndex", attempt, call, $1, "skillId", kind, "declarationId"
       FROM jsonb_to_recordset($2::jsonb) AS g("runId" uuid, "stepIndex" int, attempt int, call int, "skillId" text, kind text, "declarationId" uuid)
       ON CONFLICT (run_id, step_index, attempt, call) DO NOTHING RETURNING kind
     ) SELECT ${assertedText(`count(*) FILTER (WHERE kind = 'once') = $3`)} FROM written`,
    [tenantId, JSON.stringify(intents), intents.filter(({ kind }) => kind === 'once').length],
  );
}

/** Of runs that are about to make a `once` call, those whose intent exists because another worker wrote it. */
async function findDeclared(tx: Transaction, all: readonly Progress[]): Promise<Set<string>> {
  const once = all.flatMap(({ intents }) => intents.filter(({ kind }) => kind === 'once'));
  if (once.length === 0) return new Set();
  const { rows } = await tx.query<{ run_id: string }>(
    'find_declared',
    `SELECT e.run_id FROM jsonb_to_recordset($1::jsonb) AS g("runId" uuid, "stepIndex" int, attempt int, call int)
     JOIN effects e ON e.run_id = g."runId" AND e.step_index = g."stepIndex" AND e.attempt = g.attempt AND e.call = g.call`,
    [JSON.stringify(once)],
  );
  return new Set(rows.map(({ run_id: runId }) => runId));
}

/**
 * Of workflows whose runs end, those with runs that may wait for the end: queued runs, or a limit by which a run may be about to wait.
 * The statement follows the one that acquired the locks, so that it sees the limits that an earlier holder of a lock wrote.
 */
async function findWorkflowsWithQueue(
  tx: Transaction,
  tenantId: string,
  workflowIds: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'find_lines',
    workflowsWithQueueText,
    queueValues(tenantId, workflowIds),
  );
  return rows.map(({ id }) => id);
}

const workflowsWithQueueText = `SELECT g.id FROM (SELECT value::uuid AS id FROM jsonb_array_elements_text($2::jsonb)) g
     WHERE (SELECT true FROM workflows w WHERE w.id = g.id AND (w.limits ? 'maxConcurrentRuns' OR w.trigger->'schedule'->>'overlap' = 'queue') LIMIT 1)
       OR (SELECT true FROM runs h WHERE h.tenant_id = $1 AND h.workflow_id = g.id AND h.waits_for IS NOT NULL LIMIT 1)`;

/** The ids as JSON: the plan for JSON does not depend on the number of ids, so PostgreSQL reuses it. */
const queueValues = (tenantId: string, workflowIds: readonly string[]) => [tenantId, JSON.stringify(workflowIds)];
