import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { Batches } from '../platform/db/batches.ts';
import type { Database } from '../platform/db/database.ts';
import { memorySize } from '../platform/db/memory-size.ts';
import { throughOutages } from '../platform/db/outage.ts';
import { workspaceTopic } from '../platform/events/workspace-topic.ts';
import { isGated, termColumns } from './definitions.ts';
import { claimColumns, heldText, leaseSeconds, resultsOfClaimed } from './store.ts';
import type { ClaimedRun } from './store.ts';

/** Who begins was decided before, so all workspaces share a line. */
const line = 'claims';
/** Largest steps that are read with many other runs, in bytes as PostgreSQL keeps them in memory. */
const claimedStepsBytes = 64 * 1024;
/** How long to wait before a run that somebody has locked is tried again, in milliseconds: twice as long each time, and not beyond the second of these. */
const [firstPauseMs, lastPauseMs] = [5, 320];

/** Whether a run wants a worker and nobody holds it, as SQL. */
const isToBeHad = `status IN ('queued', 'running') AND wake_at <= now() + interval '250 milliseconds' AND lease_expires_at IS NULL`;

/** The steps of the runs that this process has in hand: runs of one version of a workflow share them. */
class SharedSteps {
  readonly #byVersion = new Map<string, WeakRef<Step[]>>();
  readonly #forget = new FinalizationRegistry<string>((version) => {
    if (this.#byVersion.get(version)?.deref() === undefined) this.#byVersion.delete(version);
  });

  /** Gives a run the steps that another run of its version has; false when there is none. */
  find(run: ClaimedRun): boolean {
    const known = this.#byVersion.get(versionOf(run))?.deref();
    if (known === undefined) return false;
    run.steps = known;
    return true;
  }

  keep(run: ClaimedRun): void {
    const version = versionOf(run);
    this.#byVersion.set(version, new WeakRef(run.steps));
    this.#forget.register(run.steps, version);
  }
}

const versionOf = (run: ClaimedRun) => `${run.workflow_id} ${String(run['workflow_version'])}`;

/** Takes runs that want a worker, those that are wanted in one moment by one statement. */
export class Claims {
  readonly #db: Database;
  readonly #batches: Batches<string, ClaimedRun | 'locked' | null>;
  readonly #steps = new SharedSteps();

  /** The latest read of large steps: one begins after the other, so that few are in memory twice. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(db: Database) {
    this.#db = db;
    this.#batches = new Batches({
      flush: (_line, runIds) => claimRuns(db, runIds),
      bytesOf: (runId) => runId.length,
    });
  }

  /**
   * Takes a run that wants a worker, if nobody holds it: raises its fence, so that whoever held it before can write nothing.
   * Null when it is held, has ended, waits for a person, is not due yet, or somebody has it locked for long: as long as it is due it is found again. A lease
   * that ran out is for the sweep to end: only that knows whether its holder had the chance to renew it.
   * @throws DatabaseOutage.
   */
  async claim(runId: string): Promise<ClaimedRun | null> {
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      const claimed = await this.#batches.add(line, runId);
      if (claimed !== 'locked') {
        return claimed === null ? null : await this.#withSteps(claimed);
      }
      if (pauseMs > lastPauseMs) return null;
      await sleep(pauseMs);
    }
  }

  /** The same run with the steps of its version, which runs in this process share. Large ones (null) were not read with the claim. */
  async #withSteps(run: ClaimedRun): Promise<ClaimedRun> {
    if (this.#steps.find(run)) return run;
    if ((run.steps as Step[] | null) === null) {
      const read = this.#reading.then(async () => {
        if (this.#steps.find(run)) return;
        // A run that waits longer loses its lease.
        const signal = AbortSignal.timeout((leaseSeconds * 1_000) / 2);
        run.steps = await throughOutages(signal, () => readSteps(this.#db, run));
        this.#steps.keep(run);
      });
      this.#reading = read.catch(() => undefined);
      await read;
      return run;
    }
    this.#steps.keep(run);
    return run;
  }
}

/** Reads the steps of the version that a run has. */
async function readSteps(db: Database, run: ClaimedRun): Promise<Step[]> {
  const [row] = await db.systemStatement<{ steps: Step[] }>(
    'read_large_steps',
    'SELECT steps FROM workflow_versions WHERE workflow_id = $1 AND version = $2',
    [run.workflow_id, run['workflow_version']],
  );
  if (row === undefined) throw new Error(`the version that run ${run.id} has was removed`);
  return row.steps;
}

/**
 * Claims many runs. It waits for none that somebody has locked: two that claimed the same ones could wait for each other, and one run
 * would keep all others from beginning.
 */
async function claimRuns(db: Database, runIds: readonly string[]): Promise<(ClaimedRun | 'locked' | null)[]> {
  const rows = await db.systemStatement<ClaimedRun & { due_id: string }>(
    'claim_runs',
    // By their ids one by one, whatever a plan supposes of how many are due.
    `WITH due AS MATERIALIZED (
       SELECT r.id FROM (SELECT DISTINCT value::uuid AS id FROM jsonb_array_elements_text($1::jsonb)) g
       CROSS JOIN LATERAL (SELECT id FROM runs WHERE id = g.id AND ${isToBeHad} LIMIT 1) r
     ), free AS MATERIALIZED (
       SELECT r.id FROM due CROSS JOIN LATERAL (SELECT id FROM runs WHERE id = due.id AND ${isToBeHad} FOR NO KEY UPDATE SKIP LOCKED) r
     ), claimed AS (
       UPDATE runs SET ${heldText},
         status = CASE WHEN (g.gated OR runs.waits_for IS NOT NULL) AND runs.started_at IS NULL THEN runs.status ELSE 'running' END,
         started_at = CASE WHEN g.gated OR runs.waits_for IS NOT NULL THEN runs.started_at ELSE coalesce(runs.started_at, now()) END
       FROM (
         SELECT w.id AS gate_id, ${termColumns}, ${isGated} AS gated
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       ) g
       WHERE runs.id = ANY(ARRAY(SELECT id FROM free)) AND g.gate_id = runs.workflow_id
       RETURNING ${claimColumns}
     )
     SELECT due.id AS due_id, claimed.*, CASE WHEN ${memorySize('v.steps', '[]')} <= ${claimedStepsBytes} THEN v.steps END AS steps, ${resultsOfClaimed} AS results
     FROM due LEFT JOIN claimed ON claimed.id = due.id LEFT JOIN workflow_versions v ON v.workflow_id = claimed.workflow_id AND v.version = claimed.workflow_version`,
    [JSON.stringify(runIds), leaseSeconds],
  );
  const due = new Map<string, ClaimedRun | 'locked'>();
  for (const { due_id: runId, ...run } of rows) due.set(runId, run.id === null ? 'locked' : run);
  for (const tenantId of new Set(rows.map(({ tenant_id: id }) => id)))
    if (tenantId !== null) db.changed(workspaceTopic(tenantId));
  return runIds.map((runId) => {
    const found = due.get(runId) ?? null;
    // Whoever asks for it, too, does not hold it.
    due.delete(runId);
    return found;
  });
}
