import type { RunSummary } from '../../../../../shared/client/operations.ts';
import type { WorkspaceEvent } from '../../app/live-events.ts';

/** The loaded part of a list of runs, newest first. */
export interface RunRows {
  rows: RunSummary[];
  /** Cursor of the runs after the last row; null at the end. */
  next: string | null;
  /** New runs that are not shown, because the reader is not at the top. */
  newCount: number;
  /** Whether there are more new runs than were counted. */
  hasMoreNew: boolean;
}

/** One page of the API. */
export interface RunWindow {
  rows: RunSummary[];
  next: string | null;
}

const finalStatuses: readonly string[] = ['succeeded', 'failed', 'cancelled'];
export const isFinal = (status: string) => finalStatuses.includes(status);

/** Adds the newest runs to the list. Ids of runs ascend with time. */
function merge(old: RunRows, fresh: RunWindow): RunRows {
  const last = fresh.rows.at(-1)?.id;
  const first = old.rows[0]?.id;
  // Nothing was found so far, but the search goes on further down.
  if (last === undefined && fresh.next !== null && old.rows.length > 0)
    return { ...old, newCount: 0, hasMoreNew: false };
  const isGap = last !== undefined && first !== undefined && last > first;
  // Without an overlap, the runs in between are not loaded, so the list starts again.
  if (last === undefined || first === undefined || isGap || fresh.next === null)
    return { ...fresh, newCount: 0, hasMoreNew: false };
  const older = old.rows.filter(({ id }) => id < last);
  return {
    rows: [...fresh.rows, ...older],
    next: older.length > 0 ? old.next : fresh.next,
    newCount: 0,
    hasMoreNew: false,
  };
}

/** Updates the rows of the list, and only counts new ones, so that nothing moves. */
function mergeInPlace(old: RunRows, fresh: RunWindow): RunRows {
  const first = old.rows[0]?.id ?? '';
  const freshById = new Map(fresh.rows.map((row) => [row.id, row]));
  const newCount = fresh.rows.filter(({ id }) => id > first).length;
  return {
    rows: old.rows.map((row) => freshById.get(row.id) ?? row),
    next: old.next,
    newCount,
    hasMoreNew: newCount > 0 && newCount === fresh.rows.length && fresh.next !== null,
  };
}

/** Combines the loaded list with its newest runs. `keepsRows`: rows must not move, because the reader works with them. */
export function combine(old: RunRows | undefined, fresh: RunWindow, keepsRows: boolean): RunRows {
  if (old === undefined) return { ...fresh, newCount: 0, hasMoreNew: false };
  return keepsRows && old.rows.length > 0 ? mergeInPlace(old, fresh) : merge(old, fresh);
}

export function append(old: RunRows, { rows, next }: RunWindow): RunRows {
  const known = new Set(old.rows.map(({ id }) => id));
  return { ...old, rows: [...old.rows, ...rows.filter(({ id }) => !known.has(id))], next };
}

function patch(row: RunSummary, event: WorkspaceEvent): RunSummary {
  const status = event['status'] as RunSummary['status'];
  const finishedAt = event['finishedAt'] as string | null;
  // The row was read after this event.
  if (isFinal(row.status) && !isFinal(status) && event.at <= (row.finishedAt ?? '')) return row;
  const code = event['errorCode'] as string | null;
  return {
    ...row,
    status,
    startedAt: event['startedAt'] as string | null,
    finishedAt,
    waitsFor: status === row.status ? row.waitsFor : null,
    error: status !== 'failed' || code === null ? null : row.error?.code === code ? row.error : { code, message: '' },
  };
}

/**
 * Applies events to the rows.
 * @returns the rows, the same object if none changed, and whether the first page must be read again: for new runs, and
 * for the reasons why a run waits or failed, which events do not have.
 */
export function applyEvents(old: RunRows, events: readonly WorkspaceEvent[]): { rows: RunRows; mustRead: boolean } {
  let mustRead = false;
  const latest = new Map<string, WorkspaceEvent>();
  const touched = new Set<string>();
  for (const event of events) {
    if (event.type === 'run' && event.id !== undefined) latest.set(event.id, event);
    else if ((event.type === 'step' || event.type === 'approval') && event.runId !== undefined)
      touched.add(event.runId);
  }
  if (latest.size === 0 && touched.size === 0) return { rows: old, mustRead };
  let known = 0;
  const rows = old.rows.map((row) => {
    if (touched.has(row.id) && !isFinal(row.status)) mustRead = true;
    const event = latest.get(row.id);
    if (event === undefined) return row;
    known += 1;
    if (event['status'] !== 'succeeded') mustRead = true;
    return patch(row, event);
  });
  if (known < latest.size) mustRead = true;
  return { rows: known === 0 ? old : { ...old, rows }, mustRead };
}
