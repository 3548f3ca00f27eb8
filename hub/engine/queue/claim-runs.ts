import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { Database } from '../../platform/db/database.ts';
import { memorySize } from '../../platform/db/memory-size.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import { workspaceTopic } from '../../platform/events/workspace-topic.ts';
import { claimColumns, claimText, resultsOfClaimed } from '../runs/store.ts';
import type { ClaimedRun, StepRow } from '../runs/store.ts';
import { isGated, termColumns } from '../starts/definitions.ts';
import { isWakeTimeText } from './wake-runs.ts';
import { leaseSeconds } from './worker-lease.ts';

/** Maximum size of the steps that a claim reads, in bytes of memory of PostgreSQL. */
const claimedStepsBytes = 64 * 1024;
/** Maximum number of workspaces that one statement lists. */
const maxListed = 256;

/** Whether a row of `runs` is due and no process holds it, as SQL. */
const isDue = `status IN ('queued', 'running') AND ${isWakeTimeText} AND holder_id IS NULL`;

/** Whether a row of `runs` is a due run that the claim request `a` covers, as SQL. */
const isRequested = `tenant_id = a."tenantId" AND ${isDue} AND wake_at > CASE WHEN a."onlyRecent" THEN now() - interval '1 minute' ELSE '-infinity' END`;

/** A request to claim due runs of a workspace. */
export interface ClaimRequest {
  tenantId: string;
  /** Maximum number of runs to claim. */
  most: number;
  /**
   * Whether to claim only runs that became due within the last minute, as after a wake-up. The claim then skips the index entries
   * of runs that were claimed earlier. These entries remain while a backup reads the database.
   */
  onlyRecent: boolean;
}

export interface ClaimedOfWorkspace {
  tenantId: string;
  runs: ClaimedRun[];
  /** Whether the requested number of runs was claimed. The workspace can then have more due runs. */
  hasMore: boolean;
  /** Whether due runs were not claimed, because other transactions have locked them. */
  isLocked: boolean;
  /** Time until the next run becomes due, in milliseconds; null if no run has a later wake-up time. */
  nextInMs: number | null;
}

/**
 * Claims the due runs of workspaces, those with the earliest wake-up time first. A claim sets a new fence token, so that earlier
 * holders of the run can no longer write. The claim waits for no lock: it skips runs that another transaction has locked, for
 * example to claim them.
 * @param holderId the process that holds the claimed runs.
 * @throws DatabaseOutage.
 */
export async function claimDueRuns(
  db: Database,
  requests: readonly ClaimRequest[],
  holderId: string,
): Promise<ClaimedOfWorkspace[]> {
  const rows = await db.systemStatement<
    ClaimedRun & { requested_tenant_id: string; due_count: number; next_in_ms: number | null; id: string | null }
  >(
    'claim_due_runs',
    `WITH requested AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS a("tenantId" uuid, most int, "onlyRecent" boolean)
     ), due AS MATERIALIZED (
       SELECT a.*, (SELECT count(*) FROM (SELECT 1 FROM runs WHERE ${isRequested} ORDER BY wake_at LIMIT a.most) d)::int AS due_count,
         (SELECT ceil(extract(epoch FROM min(wake_at) - now()) * 1000) FROM runs WHERE tenant_id = a."tenantId" AND NOT ${isWakeTimeText} AND holder_id IS NULL)::float8 AS next_in_ms
       FROM requested a
     ), unlocked AS MATERIALIZED (
       SELECT r.* FROM requested a CROSS JOIN LATERAL (
         SELECT id, started_at IS NULL AS is_unstarted FROM runs WHERE ${isRequested} ORDER BY wake_at LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) r
     ), claimed AS (
       UPDATE runs SET ${claimText},
         status = CASE WHEN (g.gated OR runs.waits_for IS NOT NULL) AND runs.started_at IS NULL THEN runs.status ELSE 'running' END,
         started_at = CASE WHEN g.gated OR runs.waits_for IS NOT NULL THEN runs.started_at ELSE coalesce(runs.started_at, now()) END
       FROM (
         SELECT w.id AS gate_id, ${termColumns}, ${isGated} AS gated
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       ) g
       WHERE runs.id = ANY(ARRAY(SELECT id FROM unlocked)) AND g.gate_id = runs.workflow_id
       RETURNING ${claimColumns}
     )
     SELECT a."tenantId" AS requested_tenant_id, a.due_count, a.next_in_ms, claimed.*, unlocked.is_unstarted, CASE WHEN ${memorySize('v.steps', '[]')} <= ${claimedStepsBytes} THEN v.steps END AS steps
     FROM due a LEFT JOIN claimed ON claimed.tenant_id = a."tenantId" LEFT JOIN unlocked ON unlocked.id = claimed.id
     LEFT JOIN workflow_versions v ON v.workflow_id = claimed.workflow_id AND v.version = claimed.workflow_version`,
    [JSON.stringify(requests), holderId],
  );
  const byWorkspace = Map.groupBy(rows, (row) => row.requested_tenant_id);
  const results = await readResults(
    db,
    rows.filter(
      ({ id, is_unstarted: isUnstarted, next_step: next }) => id !== null && (isUnstarted !== true || next > 0),
    ),
  );
  return requests.map(({ tenantId, most }) => {
    const own = byWorkspace.get(tenantId) ?? [];
    const runs = own.flatMap(({ requested_tenant_id: _tenant, due_count: _dueCount, next_in_ms: _next, ...run }) =>
      run.id === null
        ? []
        : [{ ...run, results: results.get(run.id) ?? [], held_since: performance.now() } as ClaimedRun],
    );
    if (runs.length > 0) db.changed(workspaceTopic(tenantId));
    const [{ due_count: dueCount, next_in_ms: nextInMs } = { due_count: 0, next_in_ms: null }] = own;
    return { tenantId, runs, hasMore: runs.length === most, isLocked: runs.length < dueCount, nextInMs };
  });
}

/** Reads the recorded steps of claimed runs. The statement of the claim cannot read them (see `resultsOfClaimed`). */
async function readResults(
  db: Database,
  runs: readonly { id: string | null; next_step: number }[],
): Promise<Map<string, StepRow[]>> {
  if (runs.length === 0) return new Map();
  const claimed = JSON.stringify(runs.map(({ id, next_step }) => ({ id, next_step })));
  // This process already holds the runs, so an outage must not end the claim: the read is retried.
  const signal = AbortSignal.timeout((leaseSeconds * 1_000) / 2);
  const rows = await retryOnOutage(signal, () =>
    db.systemStatement<{ id: string; results: StepRow[] }>(
      'read_claimed_steps',
      `SELECT id, ${resultsOfClaimed} AS results FROM jsonb_to_recordset($1::jsonb) AS claimed(id uuid, next_step int)`,
      [claimed],
    ),
  );
  return new Map(rows.map(({ id, results }) => [id, results]));
}

export interface DueWorkspaces {
  /** Time until the first run of each workspace is due, in milliseconds; 0 or less if it is due. */
  workspaces: { tenantId: string; inMs: number }[];
  /** The last listed workspace, from which the next list continues; null at the end. */
  upTo: string | null;
}

/** Lists the workspaces with runs that are due now or at a later time. One index step finds each workspace. */
export async function listDueWorkspaces(db: Database, after: string | null): Promise<DueWorkspaces> {
  const first = (afterText: string) =>
    `SELECT tenant_id, wake_at FROM runs WHERE wake_at IS NOT NULL AND holder_id IS NULL AND tenant_id > ${afterText} ORDER BY tenant_id, wake_at LIMIT 1`;
  const rows = await db.systemStatement<{ tenant_id: string; in_ms: number }>(
    'list_due_workspaces',
    `WITH RECURSIVE workspace AS (
       (${first('$1::uuid')})
       UNION ALL
       SELECT n.* FROM workspace CROSS JOIN LATERAL (${first('workspace.tenant_id')}) n
     )
     SELECT tenant_id, (extract(epoch FROM wake_at - now()) * 1000)::float8 AS in_ms FROM workspace LIMIT ${maxListed}`,
    [after ?? '00000000-0000-0000-0000-000000000000'],
  );
  return {
    workspaces: rows.map(({ tenant_id: tenantId, in_ms: inMs }) => ({ tenantId, inMs })),
    upTo: rows.length === maxListed ? (rows.at(-1)?.tenant_id ?? null) : null,
  };
}

const versionKeyOf = (run: ClaimedRun) => `${run.workflow_id} ${run.workflow_version}`;

/** Caches the steps of workflow versions, so that concurrent runs of a version share one copy in memory. */
export class VersionSteps {
  readonly #db: Database;
  readonly #byVersion = new Map<string, WeakRef<Step[]>>();
  readonly #forget = new FinalizationRegistry<string>((version) => {
    if (this.#byVersion.get(version)?.deref() === undefined) this.#byVersion.delete(version);
  });
  /** The last read of large steps. Reads are sequential, so that concurrent runs do not read the same version twice. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Sets the steps of a claimed run to the shared copy. Large steps are null after the claim and are read here. */
  async complete(run: ClaimedRun): Promise<void> {
    if (this.#find(run)) return;
    if ((run.steps as Step[] | null) !== null) {
      this.#cache(run);
      return;
    }
    const read = this.#reading.then(async () => {
      if (this.#find(run)) return;
      // After a longer wait, the lease of this process can have ended.
      const signal = AbortSignal.timeout((leaseSeconds * 1_000) / 2);
      run.steps = await retryOnOutage(signal, () => readSteps(this.#db, run));
      this.#cache(run);
    });
    this.#reading = read.catch(() => undefined);
    await read;
  }

  #find(run: ClaimedRun): boolean {
    const known = this.#byVersion.get(versionKeyOf(run))?.deref();
    if (known === undefined) return false;
    run.steps = known;
    return true;
  }

  #cache(run: ClaimedRun): void {
    const version = versionKeyOf(run);
    this.#byVersion.set(version, new WeakRef(run.steps));
    this.#forget.register(run.steps, version);
  }
}

async function readSteps(db: Database, run: ClaimedRun): Promise<Step[]> {
  const [row] = await db.systemStatement<{ steps: Step[] }>(
    'read_large_steps',
    'SELECT steps FROM workflow_versions WHERE workflow_id = $1 AND version = $2',
    [run.workflow_id, run.workflow_version],
  );
  if (row === undefined) throw new Error(`the workflow version of run ${run.id} was removed`);
  return row.steps;
}
