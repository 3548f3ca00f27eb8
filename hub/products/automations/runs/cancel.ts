import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { admitWaitingRuns, lockRunTrees, markCancelled, runTopic, RunTrace, wakeRuns } from '../../../engine/index.ts';
import type { PromisedJob, RunCaller } from '../../../engine/index.ts';
import { TransactionConflict } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts';
import { recordAudits } from '../../core/audit/index.ts';
import { liveRunsAmong, testKeyNotAllowed } from '../test-keys/index.ts';
import { isFinal } from './again.ts';

interface CancelDependencies {
  events: Events;
  /** Null when nothing is traced. */
  tracing: Tracing | null;
  dispatch: (jobs: PromisedJob[]) => void;
  onCancel: (tx: Transaction, tenantId: string, runIds: readonly string[]) => Promise<() => void>;
}

/** Cancels runs in the caller's transaction and records it; answers why those that it could not were refused. */
export async function cancelAudited(
  tx: Transaction,
  deps: CancelDependencies,
  tenantId: string,
  runIds: readonly string[],
  { actor, environment }: RunCaller,
): Promise<{ refusals: Map<string, AppError>; committed: () => void }> {
  const kept = environment === 'test' ? await liveRunsAmong(tx, tenantId, runIds) : new Set<string>();
  const { before, committed } = await cancelWithin(
    tx,
    deps,
    tenantId,
    runIds.filter((id) => !kept.has(id)),
  );
  const refusals = new Map([...kept].map((id) => [id, testKeyNotAllowed('live runs')]));
  const audits: Parameters<typeof recordAudits>[1][number][] = [];
  for (const runId of runIds) {
    if (kept.has(runId)) continue;
    const status = before.get(runId);
    if (status === undefined) refusals.set(runId, notFound('run', runId));
    else if (isFinal(status)) refusals.set(runId, notCancellable(status));
    else
      audits.push({
        tenantId,
        actor,
        action: 'run.cancelled',
        targetType: 'run',
        targetId: runId,
        details: { before: status },
      });
  }
  await recordAudits(tx, audits);
  return { refusals, committed };
}

/**
 * Cancels runs, and the runs that they wait for, in the caller's transaction. Answers the state before of those that there are;
 * call `committed` after the commit.
 */
export async function cancelWithin(
  tx: Transaction,
  deps: CancelDependencies,
  tenantId: string,
  runIds: readonly string[],
): Promise<{ before: Map<string, RunStatus>; committed: () => void }> {
  const asked = new Set(runIds);
  const locked = await lockRunTrees(tx, tenantId, runIds);
  if (locked.some((run) => run.in_tree && asked.has(run.id) && isFinal(run.status)))
    throw new TransactionConflict('a run ended while it was to be cancelled');
  const open = locked.filter((run) => run.in_tree && !isFinal(run.status));
  const before = new Map(locked.flatMap((run) => (asked.has(run.id) ? [[run.id, run.status]] : [])));
  if (open.length === 0) return { before, committed: () => undefined };
  const ids = open.map((run) => run.id);
  await markCancelled(tx, tenantId, ids);
  const tell = await deps.onCancel(tx, tenantId, ids);
  // One that is cancelled with those that it waits for wants no worker.
  const cancelled = new Set(ids);
  const parents = open.flatMap(({ parent_run_id: parentId }) =>
    parentId === null || cancelled.has(parentId) ? [] : [parentId],
  );
  const jobs = [
    ...(await wakeRuns(tx, [...new Set(parents)], ids)),
    ...(await admitWaitingRuns(
      tx,
      tenantId,
      open.map((run) => run.workflow_id),
    )),
  ];
  const committed = () => {
    tell();
    for (const id of ids) void deps.events.publish(runTopic(id), { status: 'cancelled' });
    const { tracing } = deps;
    if (tracing !== null) for (const run of open) new RunTrace(tracing, run).ended('cancelled');
    deps.dispatch(jobs);
  };
  return { before, committed };
}

function notCancellable(status: RunStatus): AppError {
  return new AppError(
    'run_not_cancellable',
    `The run has ended (${status}); only a queued, running or waiting run can be cancelled.`,
  );
}
