import type { Transaction } from '../platform/db/database.ts';
import { noteWorkspaceChange } from '../platform/events/workspace-topic.ts';
import { newId } from '../platform/ids.ts';
import { currentTraceParent } from '../platform/observability/tracing/trace-context.ts';
import type { NewRun } from './accept-runs.ts';
import { workspaceStamp } from './definitions.ts';
import type { FoundDefinition, LockedDefinition } from './definitions.ts';
import { leaseSeconds } from './store.ts';
import type { ClaimedRun } from './store.ts';

/** Room that a worker of this process keeps for a run that is about to be accepted, or to go on. */
export interface Reservation extends Disposable {
  /** Takes the run, which was written as one that this process holds. Whoever disposes the reservation afterwards changes nothing. */
  begin(run: ClaimedRun): void;
}

/** A run that nothing holds back, of a workflow that is locked. */
export type HeldStart = Pick<NewRun, 'trigger' | 'context' | 'payload' | 'environment'> & {
  id: string;
  definition: FoundDefinition;
};

/** A run that was accepted as one that this process holds, as its worker sees it. */
export function begunRun(
  definition: LockedDefinition,
  {
    environment,
    context,
    depth = 0,
    requestedBy = [],
  }: Pick<NewRun, 'environment' | 'context' | 'depth' | 'requestedBy'>,
  row: Pick<ClaimedRun, 'id' | 'trigger' | 'payload' | 'queued_at'> & { traceParent: string | null },
): ClaimedRun {
  const { steps, approvals_required_for, error_workflow_id, pack_id, pack_grants, entitlements } = definition;
  return {
    id: row.id,
    tenant_id: definition.tenant_id,
    workflow_id: definition.id,
    environment,
    trigger: row.trigger,
    context,
    payload: row.payload,
    unread_input: null,
    attempt: 1,
    next_step: 0,
    fence: '1',
    lost_leases: 0,
    process_deaths: null,
    wake_count: 0,
    parent_run_id: null,
    depth,
    requested_by: [...requestedBy],
    trace_parent: row.traceParent,
    queued_at: row.queued_at,
    started_at: row.queued_at,
    steps,
    results: [],
    approvals_required_for,
    error_workflow_id,
    pack_id,
    pack_grants,
    entitlements,
    held_since: performance.now(),
  };
}

/**
 * Runs that a transaction of the caller accepts as ones that this process holds already: as many as its worker has room for. They begin once
 * the caller says that it is committed, and never otherwise.
 */
export class HeldStarts implements Disposable {
  readonly #reserve: (tenantId: string) => Reservation | null;
  #reservations: Reservation[] = [];
  #begun: { reservation: Reservation; run: ClaimedRun }[] = [];

  constructor(reserve: (tenantId: string) => Reservation | null) {
    this.#reserve = reserve;
  }

  /** Keeps room for one run; false when there is none. */
  takeRoom(tenantId: string): boolean {
    const reservation = this.#reserve(tenantId);
    if (reservation === null) return false;
    this.#reservations.push(reservation);
    return true;
  }

  /**
   * Writes runs for which room was taken, one for each, in their order. Nothing of them exists before the transaction commits. Answers which it
   * wrote: none whose workspace or policy was changed since they were found, for that may hold it back.
   */
  async accept(tx: Transaction, starts: readonly HeldStart[]): Promise<ReadonlySet<string>> {
    if (starts.length === 0) return new Set();
    const traceParent = currentTraceParent();
    for (const tenantId of new Set(starts.map(({ definition }) => definition.tenant_id)))
      noteWorkspaceChange(tx, tenantId);
    const { rows } = await tx.query<Pick<ClaimedRun, 'id' | 'queued_at' | 'trigger' | 'payload'>>(
      'accept_begun_runs',
      `WITH given AS MATERIALIZED (
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, flow_id uuid, tenant_id uuid, workflow_id uuid, version int, trigger jsonb, context text, payload jsonb,
           environment text, trace_parent text, stamp text)
       ), known AS MATERIALIZED (
         SELECT t.id, ${workspaceStamp} AS stamp FROM tenants t LEFT JOIN automation_policies p ON p.tenant_id = t.id WHERE t.id = ANY(ARRAY(SELECT DISTINCT tenant_id FROM given))
       ), fit AS MATERIALIZED (
         SELECT g.* FROM given g JOIN known k ON k.id = g.tenant_id AND k.stamp = g.stamp
       ), flow AS (
         INSERT INTO flows (id, tenant_id, workflow_id, revision) SELECT flow_id, tenant_id, workflow_id, 1 FROM fit
       )
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, depth, requested_by, trace_parent, wake_at, queued_at,
         started_at, fence, lease_expires_at)
       SELECT id, tenant_id, workflow_id, version, flow_id, 'running', trigger, context, payload, environment, 1, 0, '{}', trace_parent, now(), now(), now(), 1, now() + make_interval(secs => $2)
       FROM fit RETURNING id, queued_at, trigger, payload`,
      [
        JSON.stringify(
          starts.map(({ definition, ...run }) => ({
            ...run,
            flow_id: newId(),
            tenant_id: definition.tenant_id,
            workflow_id: definition.id,
            version: definition.version,
            trace_parent: traceParent,
            stamp: definition.workspace_stamp,
          })),
        ),
        leaseSeconds,
      ],
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    this.#begun = starts.flatMap(({ definition, ...run }, index) => {
      const row = byId.get(run.id);
      const reservation = this.#reservations[index];
      if (row === undefined || reservation === undefined) return [];
      return [{ reservation, run: begunRun(definition, run, { ...row, traceParent }) }];
    });
    return new Set(byId.keys());
  }

  /** Lets them begin: their transaction is committed. Answers how many they are. */
  begin(): number {
    const begun = this.#begun.splice(0);
    for (const { reservation, run } of begun) reservation.begin({ ...run, held_since: performance.now() });
    return begun.length;
  }

  /** Gives up what was not committed, as before a transaction is tried again. */
  [Symbol.dispose](): void {
    this.#begun = [];
    for (const reservation of this.#reservations.splice(0)) reservation[Symbol.dispose]();
  }
}
