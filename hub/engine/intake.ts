import { Batches } from '../platform/db/batches.ts';
import type { Database, Transaction, TransactionOptions } from '../platform/db/database.ts';
import { commitBehind } from '../platform/db/transaction.ts';
import { noteWorkspaceChange } from '../platform/events/workspace-topic.ts';
import { newId } from '../platform/ids.ts';
import { currentTraceParent } from '../platform/observability/tracing/trace-context.ts';
import { enqueueRun, runJobId } from './accept-runs.ts';
import type { NewRun } from './accept-runs.ts';
import { definitionStamp, isGated } from './definitions.ts';
import type { Definition } from './definitions.ts';
import { begunRun, HeldStarts } from './held-starts.ts';
import type { Reservation } from './held-starts.ts';
import { Resumption } from './resumption.ts';
import { leaseSeconds } from './store.ts';
import type { ClaimedRun } from './store.ts';

/** A run of a workflow that was looked up before. */
export type IntakeRun = Omit<
  NewRun,
  'id' | 'tenantId' | 'workflowId' | 'workflowVersion' | 'notBefore' | 'parentRunId'
> & {
  definition: Definition;
};

interface Item {
  runId: string;
  /** The row, as JSON. */
  text: string;
}

interface AcceptedRow {
  id: string;
  queued_at: Date;
  begins: boolean;
  trigger: ClaimedRun['trigger'];
  payload: ClaimedRun['payload'];
  outbox_id: string | null;
}

/**
 * Accepts runs, many of one workspace in one statement. A run that nothing holds back, and for which a worker of this process has
 * room, is accepted as one that this process holds already: nobody has to be told of it, or to take it. Any other is queued, with its wake-up.
 */
export class RunIntake {
  readonly #batches: Batches<Item, AcceptedRow | null>;
  #reserve: (tenantId: string) => Reservation | null = () => null;

  constructor(db: Database) {
    this.#batches = new Batches({
      flush: (tenantId, items, options) => acceptHeld(db, tenantId, items, options),
      bytesOf: ({ text }) => text.length,
    });
  }

  /** Lets a worker of this process have runs at once. */
  preferLocal(reserve: (tenantId: string) => Reservation | null): void {
    this.#reserve = reserve;
  }

  /** Prepares for a run of a workspace to go on. */
  resumption(tenantId: string): Resumption {
    return new Resumption(this.#reserve(tenantId));
  }

  /** Room for runs that a transaction is about to accept, as far as a worker of this process has some. */
  openStarts(): HeldStarts {
    return new HeldStarts((tenantId) => this.#reserve(tenantId));
  }

  /**
   * Accepts a run; resolves once it is committed. Null, and nothing was accepted, when what it was to be started by is not so any more: then the
   * caller looks again.
   * @throws DatabaseOutage.
   */
  async accept(run: IntakeRun): Promise<{ runId: string } | null> {
    const { definition } = run;
    const tenantId = definition.tenant_id;
    using reservation = this.#reserve(tenantId);
    const runId = newId();
    const requestedBy = [...(run.requestedBy ?? [])];
    const traceParent = currentTraceParent();
    const row = {
      id: runId,
      flow_id: newId(),
      workflow_id: definition.id,
      stamp: definition.stamp,
      trigger: run.trigger,
      context: run.context,
      payload: run.payload,
      environment: run.environment,
      depth: run.depth ?? 0,
      requested_by: requestedBy,
      trace_parent: traceParent,
      is_wanted: reservation !== null,
      job_id: runJobId(runId, 0),
    };
    const accepted = await this.#batches.add(tenantId, { runId, text: JSON.stringify(row) });
    if (accepted === null) return null;
    if (reservation !== null && accepted.begins)
      reservation.begin(begunRun(definition, run, { ...accepted, traceParent }));
    return { runId };
  }
}

/** Writes runs whose definitions stand as they were found, in one statement; null for each of the others. */
async function acceptHeld(
  db: Database,
  tenantId: string,
  items: readonly Item[],
  options: TransactionOptions,
): Promise<(AcceptedRow | null)[]> {
  const work = async (tx: Transaction) => {
    noteWorkspaceChange(tx, tenantId);
    const accepted = tx.query<AcceptedRow>(
      'accept_held_runs',
      `WITH given AS MATERIALIZED (
         SELECT * FROM jsonb_to_recordset($2::jsonb) AS g(id uuid, flow_id uuid, workflow_id uuid, stamp text, trigger jsonb, context text, payload jsonb,
           environment text, depth int, requested_by text[], trace_parent text, is_wanted boolean, job_id text)
       ), known AS MATERIALIZED (
         SELECT w.id, w.version, ${definitionStamp} AS stamp, ${isGated} AS is_gated
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
         WHERE w.tenant_id = $1 AND w.id IN (SELECT workflow_id FROM given)
       ), fit AS MATERIALIZED (
         SELECT g.*, k.version, g.is_wanted AND NOT k.is_gated AS begins FROM given g JOIN known k ON k.id = g.workflow_id AND k.stamp = g.stamp
       ), flow AS (
         INSERT INTO flows (id, tenant_id, workflow_id, revision) SELECT flow_id, $1, workflow_id, 1 FROM fit
       ), run AS (
         INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, depth, requested_by, trace_parent, wake_at, queued_at,
           started_at, fence, lease_expires_at)
         SELECT id, $1, workflow_id, version, flow_id, CASE WHEN begins THEN 'running' ELSE 'queued' END, trigger, context, payload, environment, 1, depth, requested_by, trace_parent, now(), now(),
           CASE WHEN begins THEN now() END, CASE WHEN begins THEN 1 ELSE 0 END, CASE WHEN begins THEN now() + make_interval(secs => $3) END
         FROM fit RETURNING id, queued_at, lease_expires_at IS NOT NULL AS begins, trigger, payload
       ), promised AS (
         INSERT INTO outbox (tenant_id, job, job_id, data)
         SELECT $1, 'run', job_id, jsonb_build_object('runId', id, 'tenantId', $1) FROM fit WHERE NOT begins RETURNING id, job_id
       )
       SELECT run.*, promised.id AS outbox_id FROM run LEFT JOIN promised ON promised.job_id = 'run-' || run.id || '-0'`,
      [tenantId, `[${items.map(({ text }) => text).join(',')}]`, leaseSeconds],
    );
    commitBehind(tx);
    const { rows } = await accepted;
    for (const { id, outbox_id } of rows)
      enqueueRun(tx, { outbox_id, job_id: runJobId(id, 0), run_id: id, tenant_id: tenantId });
    return rows;
  };
  const rows = await db.workspace(tenantId, work, options);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return items.map(({ runId }) => byId.get(runId) ?? null);
}
