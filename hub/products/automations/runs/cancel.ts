import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import {
  admitWaitingRuns,
  cancelTopic,
  lockRunTrees,
  markCancelled,
  runTopic,
  RunTrace,
  wakeRuns,
} from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import { TransactionConflict } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts';
import { recordAudits } from '../../core/audit/index.ts';
import { liveRunsAmong, testKeyNotAllowed } from '../test-keys/index.ts';
import { isFinal } from './rerun.ts';

interface CancelDependencies {
  /** Null when tracing is disabled. */
  tracing: Tracing | null;
  onCancel: (tx: Transaction, tenantId: string, runIds: readonly string[]) => Promise<void>;
}

/**
 * Cancels runs in the transaction of the caller and records it in the audit log. @returns the refusals of runs that
 * can't be cancelled.
 */
export async function cancelAudited(
  tx: Transaction,
  deps: CancelDependencies,
  tenantId: string,
  runIds: readonly string[],
  { actor, environment }: RunCaller,
): Promise<Map<string, AppError>> {
  const kept = environment === 'test' ? await liveRunsAmong(tx, tenantId, runIds) : new Set<string>();
  const before = await cancelWithin(
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
  return refusals;
}

/**
 * Cancels runs and their child runs in the transaction of the caller. @returns the previous states of the existing runs.
 */
export async function cancelWithin(
  tx: Transaction,
  deps: CancelDependencies,
  tenantId: string,
  runIds: readonly string[],
): Promise<Map<string, RunStatus>> {
  const requestedIds = new Set(runIds);
  const locked = await lockRunTrees(tx, tenantId, runIds);
  if (locked.some((run) => run.in_tree && requestedIds.has(run.id) && isFinal(run.status)))
    throw new TransactionConflict('a run ended while it was being cancelled');
  const open = locked.filter((run) => run.in_tree && !isFinal(run.status));
  const before = new Map(locked.flatMap((run) => (requestedIds.has(run.id) ? [[run.id, run.status]] : [])));
  if (open.length === 0) return before;
  const ids = open.map((run) => run.id);
  await markCancelled(tx, tenantId, ids);
  await deps.onCancel(tx, tenantId, ids);
  // A parent run that is cancelled together with its child run needs no wake-up.
  const cancelled = new Set(ids);
  const parents = open.flatMap(({ parent_run_id: parentId }) =>
    parentId === null || cancelled.has(parentId) ? [] : [parentId],
  );
  await wakeRuns(tx, [...new Set(parents)], ids);
  await admitWaitingRuns(tx, open);
  for (const id of ids) {
    tx.publish(cancelTopic(id), {});
    tx.changed(runTopic(id));
  }
  const { tracing } = deps;
  if (tracing !== null)
    tx.onCommit(() => {
      for (const run of open) new RunTrace(tracing, run).ended('cancelled');
    });
  return before;
}

function notCancellable(status: RunStatus): AppError {
  return new AppError(
    'run_not_cancellable',
    `The run has ended (${status}); only a queued, running or waiting run can be cancelled.`,
  );
}
