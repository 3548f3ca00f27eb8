import { useRef, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { useAction } from '../../app/api.ts';
import type { Answer } from '../../app/api.ts';
import { runQueryOf } from './filters.ts';
import type { RunFilters, RunStatus } from './filters.ts';

export type BulkKind = 'cancel' | 'retry';
type Result = Answer<'cancelAutomationRuns'>['results'][number];

export interface BulkState {
  isRunning: boolean;
  hasEnded: boolean;
  /** Runs for which the operation succeeded. */
  done: number;
  succeeded: Result[];
  refused: Result[];
  error: Error | null;
}

interface BulkFilter {
  workflowId?: string;
  status?: RunStatus;
  from?: string;
  to: string;
}

const statusesOf = {
  cancel: ['queued', 'running', 'waiting_approval'],
  retry: ['failed', 'cancelled'],
} as const satisfies Record<BulkKind, readonly RunStatus[]>;

/** Runs that the API changes in one request. */
const maxPerRequest = 100;
const atStart: BulkState = { isRunning: false, hasEnded: false, done: 0, succeeded: [], refused: [], error: null };

/**
 * The filters of a list as filters of a bulk operation, one for each status.
 * @returns an empty list if the operation applies to none of the statuses; null if the API has no such filter.
 */
export function bulkFiltersOf(kind: BulkKind, filters: RunFilters): BulkFilter[] | null {
  const { node, trigger, environment, code, id } = filters;
  if ([node, trigger, environment, code, id].some((value) => value !== undefined)) return null;
  const now = Date.now();
  const { workflowId, from, to } = runQueryOf(filters, now);
  const base = {
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(from === undefined ? {} : { from }),
    to: to ?? new Date(now).toISOString(),
  };
  if (filters.status === undefined) return [base];
  const wanted = filters.status.split(',');
  return statusesOf[kind].filter((status) => wanted.includes(status)).map((status) => ({ ...base, status }));
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
  const start = (work: () => Promise<void>) => {
    // The second click of a double click arrives before the button is disabled.
    if (isBusy.current) return;
    isBusy.current = true;
    isStopped.current = false;
    setState({ ...atStart, isRunning: true });
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
      start(async () => {
        for (let at = 0; at < ids.length && !isStopped.current; at += maxPerRequest)
          collect(await call(kind, { ids: ids.slice(at, at + maxPerRequest) }));
      }),
    byFilters: (kind: BulkKind, filters: readonly BulkFilter[]) =>
      start(async () => {
        for (const filter of filters) {
          let olderThan: string | null = null;
          do {
            if (isStopped.current) return;
            const answer: Answer<'cancelAutomationRuns'> = await call(kind, {
              filter: { ...filter, ...(olderThan === null ? {} : { olderThan }) },
            });
            collect(answer);
            olderThan = answer.next;
          } while (olderThan !== null);
        }
      }),
  };
}
