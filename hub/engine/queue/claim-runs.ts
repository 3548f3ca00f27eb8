import type { Step } from '../../../shared/contract/automations/steps.ts';
import type { Database } from '../../platform/db/database.ts';
import { memorySize } from '../../platform/db/memory-size.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import { workspaceTopic } from '../../platform/events/workspace-topic.ts';
import { claimColumns, claimText, resultsOfClaimed } from '../runs/store.ts';
import type { ClaimedRun, StepRow } from '../runs/store.ts';
import { isGated, termColumns } from '../starts/definitions.ts';
import { isTimeText } from './wake-runs.ts';
import { leaseSeconds } from './worker-lease.ts';

/** Largest steps of a workflow that are read with a claim, in bytes as PostgreSQL keeps them in memory. */
const claimedStepsBytes = 64 * 1024;
/** Workspaces that one statement lists. */
const maxListed = 256;

/** Whether a row of `runs` is due and no process holds it, as SQL. */
const isDue = `status IN ('queued', 'running') AND ${isTimeText} AND holder_id IS NULL`;

/** Whether a row of `runs` is a due run that the row `a` of the statement asks for, as SQL. */
const isAsked = `tenant_id = a."tenantId" AND ${isDue} AND wake_at > CASE WHEN a."onlyRecent" THEN now() - interval '1 minute' ELSE '-infinity' END`;

export interface AskedWorkspace {
  tenantId: string;
  /** Number of runs to claim at most. */
  most: number;
  /**
   * Whether only runs are claimed that became due within the last minute, as after a wake-up. Then a claim does not step over the
   * index entries of runs that were claimed earlier, which remain for as long as a backup reads the database.
   */
  onlyRecent: boolean;
}

export interface ClaimedOfWorkspace {
  tenantId: string;
  runs: ClaimedRun[];
  /** Whether the workspace has as many due runs as were asked for, and perhaps more. */
  hasMore: boolean;
  /** Whether other transactions have locked due runs. */
  isLocked: boolean;
  /** Time until the next run becomes due, in milliseconds; null if none waits for a time. */
  nextInMs: number | null;
}

/**
 * Claims the due runs of workspaces, those that have waited longest first. A claim raises the fence token, so that an earlier
 * holder of the run can write nothing more. It waits for no lock: runs that another transaction has locked, for example
 * because another process claims them, are skipped.
 * @param holderId the process that holds them from then on.
 * @throws DatabaseOutage.
 */
export async function claimDueRuns(
  db: Database,
  asked: readonly AskedWorkspace[],
  holderId: string,
): Promise<ClaimedOfWorkspace[]> {
  const rows = await db.systemStatement<
    ClaimedRun & { asked_tenant_id: string; seen: number; next_in_ms: number | null; id: string | null }
  >(
    'claim_due_runs',
    `WITH asked AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS a("tenantId" uuid, most int, "onlyRecent" boolean)
     ), seen AS MATERIALIZED (
       SELECT a.*, (SELECT count(*) FROM (SELECT 1 FROM runs WHERE ${isAsked} ORDER BY wake_at LIMIT a.most) d)::int AS seen,
         (SELECT ceil(extract(epoch FROM min(wake_at) - now()) * 1000) FROM runs WHERE tenant_id = a."tenantId" AND NOT ${isTimeText} AND holder_id IS NULL)::float8 AS next_in_ms
       FROM asked a
     ), free AS MATERIALIZED (
       SELECT r.* FROM asked a CROSS JOIN LATERAL (
         SELECT id, started_at IS NULL AS is_unstarted FROM runs WHERE ${isAsked} ORDER BY wake_at LIMIT a.most FOR NO KEY UPDATE SKIP LOCKED) r
     ), claimed AS (
       UPDATE runs SET ${claimText},
         status = CASE WHEN (g.gated OR runs.waits_for IS NOT NULL) AND runs.started_at IS NULL THEN runs.status ELSE 'running' END,
         started_at = CASE WHEN g.gated OR runs.waits_for IS NOT NULL THEN runs.started_at ELSE coalesce(runs.started_at, now()) END
       FROM (
         SELECT w.id AS gate_id, ${termColumns}, ${isGated} AS gated
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       ) g
       WHERE runs.id = ANY(ARRAY(SELECT id FROM free)) AND g.gate_id = runs.workflow_id
       RETURNING ${claimColumns}
     )
     SELECT a."tenantId" AS asked_tenant_id, a.seen, a.next_in_ms, claimed.*, free.is_unstarted, CASE WHEN ${memorySize('v.steps', '[]')} <= ${claimedStepsBytes} THEN v.steps END AS steps
     FROM seen a LEFT JOIN claimed ON claimed.tenant_id = a."tenantId" LEFT JOIN free ON free.id = claimed.id
     LEFT JOIN workflow_versions v ON v.workflow_id = claimed.workflow_id AND v.version = claimed.workflow_version`,
    [JSON.stringify(asked), holderId],
  );
  const byWorkspace = Map.groupBy(rows, (row) => row.asked_tenant_id);
  const results = await readResults(
    db,
    rows.filter(
      ({ id, is_unstarted: isUnstarted, next_step: next }) => id !== null && (isUnstarted !== true || next > 0),
    ),
  );
  return asked.map(({ tenantId, most }) => {
    const own = byWorkspace.get(tenantId) ?? [];
    const runs = own.flatMap(({ asked_tenant_id: _tenant, seen: _seen, next_in_ms: _next, ...run }) =>
      run.id === null
        ? []
        : [{ ...run, results: results.get(run.id) ?? [], held_since: performance.now() } as ClaimedRun],
    );
    if (runs.length > 0) db.changed(workspaceTopic(tenantId));
    const [{ seen, next_in_ms: nextInMs } = { seen: 0, next_in_ms: null }] = own;
    return { tenantId, runs, hasMore: runs.length === most, isLocked: runs.length < seen, nextInMs };
  });
}

/** Reads the steps of claimed runs, which the claim itself cannot do (`resultsOfClaimed`). */
async function readResults(
  db: Database,
  runs: readonly { id: string | null; next_step: number }[],
): Promise<Map<string, StepRow[]>> {
  if (runs.length === 0) return new Map();
  const claimed = JSON.stringify(runs.map(({ id, next_step }) => ({ id, next_step })));
  // This process holds the runs, so this is tried again while the database is unavailable.
  const signal = AbortSignal.timeout((leaseSeconds * 1_000) / 2);
  const rows = await throughOutages(signal, () =>
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

/** Lists the workspaces with runs that are due, or will be at a time: one step through the index for each workspace. */
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

const versionOf = (run: ClaimedRun) => `${run.workflow_id} ${run.workflow_version}`;

/** The steps of the runs in progress: runs of one version of a workflow share them. */
export class VersionSteps {
  readonly #db: Database;
  readonly #byVersion = new Map<string, WeakRef<Step[]>>();
  readonly #forget = new FinalizationRegistry<string>((version) => {
    if (this.#byVersion.get(version)?.deref() === undefined) this.#byVersion.delete(version);
  });
  /** The last read of large steps. Reads are sequential, so that few versions are in memory twice. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Gives a claimed run the shared steps of its version. Large steps (null) are read now. */
  async complete(run: ClaimedRun): Promise<void> {
    if (this.#find(run)) return;
    if ((run.steps as Step[] | null) !== null) {
      this.#keep(run);
      return;
    }
    const read = this.#reading.then(async () => {
      if (this.#find(run)) return;
      // After a longer wait, the lease of this process has possibly ended.
      const signal = AbortSignal.timeout((leaseSeconds * 1_000) / 2);
      run.steps = await throughOutages(signal, () => readSteps(this.#db, run));
      this.#keep(run);
    });
    this.#reading = read.catch(() => undefined);
    await read;
  }

  #find(run: ClaimedRun): boolean {
    const known = this.#byVersion.get(versionOf(run))?.deref();
    if (known === undefined) return false;
    run.steps = known;
    return true;
  }

  #keep(run: ClaimedRun): void {
    const version = versionOf(run);
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
  if (row === undefined) throw new Error(`the version that run ${run.id} has was removed`);
  return row.steps;
}
