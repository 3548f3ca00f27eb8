import { useRef, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { useAction } from '../../app/api.ts';
import type { Answer } from '../../app/api.ts';
import { runQueryOf } from './filters.ts';
import type { RunFilters, RunQuery, RunStatus } from './filters.ts';

export type BulkKind = 'cancel' | 'retry';
type Result = Answer<'cancelAutomationRuns'>['results'][number];

export interface BulkState {
  kind: BulkKind;
  isRunning: boolean;
  hasEnded: boolean;
  /** Runs for which the operation succeeded. */
  done: number;
  succeeded: Result[];
  refused: Result[];
  error: Error | null;
}

/** A filter of a bulk operation: that of a list, up to a time. */
type BulkFilter = Omit<RunQuery, 'status'> & { to: string };

const statusesOf = {
  cancel: ['queued', 'running', 'waiting_approval'],
  retry: ['failed', 'cancelled'],
} as const satisfies Record<BulkKind, readonly RunStatus[]>;

/** Runs that the API changes in one request. */
const maxPerRequest = 100;
const atStart: BulkState = {
  kind: 'cancel',
  isRunning: false,
  hasEnded: false,
  done: 0,
  succeeded: [],
  refused: [],
  error: null,
};

/**
 * The filters of a list as the filter of a bulk operation. Runs that start later do not match.
 * @returns null if the operation applies to none of the statuses.
 */
export function bulkFilterOf(kind: BulkKind, filters: RunFilters): BulkFilter | null {
  // Only failed runs have an error code.
  if (kind === 'cancel' && filters.code !== undefined) return null;
  const wanted = filters.status?.split(',');
  if (wanted !== undefined && !statusesOf[kind].some((status) => wanted.includes(status))) return null;
  const now = Date.now();
  const { status: _status, ...query } = runQueryOf(filters, now);
  return { ...query, to: query.to ?? new Date(now).toISOString() };
}

/** Cancels or retries several runs, request by request, and collects the result of each run. */
export function useBulk() {
  const cancel = useAction('cancelAutomationRuns');
  const retry = useAction('retryAutomationRuns');
  const [state, setState] = useState<BulkState>(atStart);
  const isStopped = useRef(false);
  const isBusy = useRef(false);
  const call = (kind: BulkKind, body: object): Promise<Answer<'cancelAutomationRuns'>> =>
    kind === 'cancel' ? cancel.run({ body }) : retry.run({ body });
  const collect = ({ results }: { results: Result[] }) =>
    setState((old) => {
      const ok = results.filter((result) => result.ok);
      return {
        ...old,
        done: old.done + ok.length,
        succeeded: [...old.succeeded, ...ok].slice(0, 1_000),
        refused: [...old.refused, ...results.filter((result) => !result.ok)],
      };
    });
  const start = (kind: BulkKind, work: () => Promise<void>) => {
    // The second click of a double click arrives before the button is disabled.
    if (isBusy.current) return;
    isBusy.current = true;
    isStopped.current = false;
    setState({ ...atStart, kind, isRunning: true });
    background(
      work()
        .finally(() => (isBusy.current = false))
        .then(
          () => setState((old) => ({ ...old, isRunning: false, hasEnded: true })),
          (error: unknown) =>
            setState((old) => ({
              ...old,
              isRunning: false,
              // What was done before the failure stays visible.
              hasEnded: old.done + old.refused.length > 0,
              error: error as Error,
            })),
        ),
    );
  };
  return {
    state,
    reset: () => setState(atStart),
    stop: () => {
      isStopped.current = true;
    },
    byIds: (kind: BulkKind, ids: readonly string[]) =>
      start(kind, async () => {
        for (let at = 0; at < ids.length && !isStopped.current; at += maxPerRequest)
          collect(await call(kind, { ids: ids.slice(at, at + maxPerRequest) }));
      }),
    byFilter: (kind: BulkKind, filter: BulkFilter) =>
      start(kind, async () => {
        let olderThan: string | null = null;
        do {
          const answer: Answer<'cancelAutomationRuns'> = await call(kind, {
            filter: { ...filter, ...(olderThan === null ? {} : { olderThan }) },
          });
          collect(answer);
          olderThan = answer.next;
        } while (olderThan !== null && !isStopped.current);
      }),
  };
}
