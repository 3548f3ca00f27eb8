import { LRUCache } from 'lru-cache';
import { Batches } from '../../platform/db/batches.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { assertedText, isAssertionFailed } from '../../platform/db/errors.ts';
import { commitBehind } from '../../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { writeSunk } from '../calls/row-sink.ts';
import { endsLock } from '../limits/concurrency-queue-locks.ts';
import { runRowsTopic } from '../queue/wake-runs.ts';
import type { SunkRow } from '../skill.ts';
import { attemptStartText, noteEnd } from './store.ts';
import type { CallKey, CalledWith, RunClaim, Intent, RunAdvance, StepRecord } from './store.ts';

/** Over 300 lines: the statements of one transaction, and the two ways to send them, are checked side by side. */

/** A step that is over, or about to reach out, and when it was worked on, by `performance.now()`. */
export interface DoneStep {
  record: StepRecord;
  called: CalledWith | null;
  beganAt: number;
  endedAt: number;
  rows: readonly SunkRow[];
  /** The call that it completes, if that reached out. */
  receipt: CallKey | null;
}

/** What became of a run since it was last written. */
export interface Progress extends RunClaim {
  workflowId: string;
  advance: RunAdvance;
  steps: readonly DoneStep[];
  /** Calls that are about to reach out, once this is committed. */
  intents: readonly Intent[];
  /** Whether its commit waits for the disk. */
  durable: boolean;
}

interface Item {
  progress: Progress;
  /** Its steps, as JSON without the times that are known only when they are written. */
  texts: string[];
}

/** Others wait for the ends of runs of these workflows, or may: whoever can wait for their lines has to write those. */
class Lined extends Error {
  readonly workflowIds: readonly string[];
  constructor(workflowIds: readonly string[]) {
    super('others wait for the end of a run');
    this.workflowIds = workflowIds;
  }
}

/** For how long the ends of a workflow's runs are written by themselves after somebody waited for one, in milliseconds. */
const linedMs = 5_000;

/**
 * Writes what became of runs, of many of one workspace in one transaction. It waits for no lock: a run that is locked it leaves to its
 * caller, and so each whose end others wait for.
 */
export class ProgressWriter {
  readonly #batches: Batches<Item, boolean>;
  /** Workflows for the ends of whose runs others wait. */
  readonly #lined = new LRUCache<string, true>({ max: 10_000, ttl: linedMs });

  constructor(db: Database) {
    this.#batches = new Batches({
      flush: (tenantId, items) => writeAll(db, tenantId, items, (workflowId) => this.#lined.set(workflowId, true)),
      bytesOf: ({ texts }) => texts.reduce((sum, text) => sum + text.length, 0),
    });
  }

  /**
   * Resolves once all of it is committed; to false when nothing of it is.
   * @throws DatabaseOutage, when it may be written all the same; whatever else keeps it from being written.
   */
  async write(tenantId: string, progress: Progress): Promise<boolean> {
    if (progress.advance.ends !== null && this.#lined.has(progress.workflowId)) return false;
    const texts = progress.steps.map(({ record, called }) => {
      const { wait, state, output, error } = record;
      const input = called?.index === record.index ? called : null;
      return `"run_id":"${progress.runId}","index":${record.index},"status":"${record.status}","attempts":${record.attempts},"finished":${record.finished},"output_bytes":${record.outputBytes ?? 0},"wait":${JSON.stringify(wait)},"state":${JSON.stringify(state)},"output":${JSON.stringify(output)},"output_text":${JSON.stringify(record.outputText)},"error":${JSON.stringify(error)},"input":${input?.text ?? 'null'},"input_omitted":${input === null ? 'null' : input.text === null}`;
    });
    return this.#batches.add(tenantId, { progress, texts });
  }
}

/** Writes those that it can; answers which. */
async function writeAll(
  db: Database,
  tenantId: string,
  items: readonly Item[],
  onLined: (workflowId: string) => void,
): Promise<boolean[]> {
  const lined: string[] = [];
  for (;;) {
    const rest = items.filter(
      ({ progress: { advance, workflowId } }) => advance.ends === null || !lined.includes(workflowId),
    );
    try {
      const written = rest.length === 0 ? new Set<string>() : await writeTogether(db, tenantId, rest);
      return items.map((item) => rest.includes(item) && written.has(item.progress.runId));
    } catch (error) {
      if (!(error instanceof Lined)) throw error;
      for (const workflowId of error.workflowIds) onLined(workflowId);
      lined.push(...error.workflowIds);
    }
  }
}

/** Answers which runs were written: those that are still their writers' and that nobody holds. @throws Lined when nothing was. */
async function writeTogether(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
  try {
    return await writeAtOnce(db, tenantId, items);
  } catch (error) {
    if (!isAssertionFailed(error)) throw error;
    return writeThoseThatCan(db, tenantId, items);
  }
}

/** Writes all in one round trip. @throws what `isAssertionFailed` knows when one of them can't be, or others may wait for its end. */
function writeAtOnce(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
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
          tx.query('assert_no_lines', `SELECT ${assertedText(`NOT EXISTS (${linesText})`)}`, linesOf(tenantId, ended)),
        );
      commitBehind(tx);
      await Promise.all(writes);
      return new Set(all.map(({ runId }) => runId));
    },
    { durable: items.some(({ progress }) => progress.durable) },
  );
}

/** Looks first which can be written, and for whose ends others wait. */
function writeThoseThatCan(db: Database, tenantId: string, items: readonly Item[]): Promise<Set<string>> {
  return db.workspace(
    tenantId,
    async (tx) => {
      const all = items.map(({ progress }) => progress);
      // These are left to their callers, who find out by themselves what stands against the call.
      const declared = await findDeclared(tx, all);
      const advanced = await advanceThoseThatCan(
        tx,
        all.filter(({ runId }) => !declared.has(runId)),
      );
      // Nothing more is sent of the others: even the reference of a step to its run would wait for whoever has that locked.
      const mine = items.filter(({ progress }) => advanced.has(progress.runId));
      if (mine.length === 0) return advanced;
      const ended = endedWorkflows(mine.map(({ progress }) => progress));
      const [waitedFor] = await Promise.all([
        ended.length === 0 ? [] : findLines(tx, tenantId, ended),
        ...writesOf(tx, tenantId, mine),
      ]);
      if (waitedFor.length > 0) throw new Lined(waitedFor);
      return advanced;
    },
    { durable: items.some(({ progress }) => progress.durable) },
  );
}

const endedWorkflows = (all: readonly Progress[]) => [
  ...new Set(all.flatMap(({ advance, workflowId }) => (advance.ends === null ? [] : [workflowId]))),
];

/** What is written of runs that are moved on, one behind the other without waiting. */
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
    writeSunk(
      tx,
      all.flatMap(({ steps }) => steps.flatMap(({ rows }) => rows)),
    ),
  ];
}

/**
 * Moves held runs on, or ends them: then no limit of their workflows changes before that is committed. It leaves the planner no choice
 * but to find them by their ids: a plan that was made while there were few would else read all of a workspace.
 * @param answer the statement's end, which says what became of `advanced`.
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
     RETURNING r.id, r.workflow_id, CASE WHEN g.ends IS NULL THEN true ELSE pg_try_advisory_xact_lock_shared(${endsLock('r.workflow_id')}) END AS is_free
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

/** Answers which runs it could move on. @throws Lined */
async function advanceThoseThatCan(tx: Transaction, all: readonly Progress[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string; workflow_id: string; is_free: boolean }>(
    'advance_runs',
    advanceText('SELECT id, workflow_id, is_free FROM advanced'),
    [advancesOf(all)],
  );
  // Somebody changes their limits, and looks whether anybody is to follow.
  const judged = rows.flatMap(({ workflow_id: workflowId, is_free: isFree }) => (isFree ? [] : [workflowId]));
  if (judged.length > 0) throw new Lined([...new Set(judged)]);
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
 * Enters intents into the effects ledger; those of `keyed` calls may be there already. Fails the transaction, as `isAssertionFailed` knows, when that of a `once`
 * call is.
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

/** Of runs that are about to make `once` calls, those of which the intent is there already: another worker wrote it. */
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
 * Of workflows whose runs end, those for whose ends others may wait: some stand in line, or a limit holds by which somebody may be about
 * to. A statement later than that which took the locks, so that it sees the limits of whoever had a lock before.
 */
async function findLines(tx: Transaction, tenantId: string, workflowIds: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>('find_lines', linesText, linesOf(tenantId, workflowIds));
  return rows.map(({ id }) => id);
}

const linesText = `SELECT g.id FROM (SELECT value::uuid AS id FROM jsonb_array_elements_text($2::jsonb)) g
     WHERE (SELECT true FROM workflows w WHERE w.id = g.id AND (w.limits ? 'maxConcurrentRuns' OR w.trigger->'schedule'->>'overlap' = 'queue') LIMIT 1)
       OR (SELECT true FROM runs h WHERE h.tenant_id = $1 AND h.workflow_id = g.id AND h.waits_for IS NOT NULL LIMIT 1)`;

/** As JSON, of whose length a plan supposes nothing: the plan for an array of one would be made anew each time. */
const linesOf = (tenantId: string, workflowIds: readonly string[]) => [tenantId, JSON.stringify(workflowIds)];
