import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { client, keyOf } from '../../app/api.ts';
import type { WorkspaceEvent } from '../../app/live-events.ts';
import { isGap, useRereads, useWorkspaceEvents } from '../../app/live-updates.tsx';
import type { RunQuery } from './filters.ts';
import { append, applyEvents, combine, isFinal } from './run-rows.ts';
import type { RunRows, RunWindow } from './run-rows.ts';

/** Runs of one page of the API. */
const windowSize = 100;
/** Rows that the page keeps. Older runs open as a list of their own. */
export const maxRows = 1_000;
/** Requests for one page. A filter for rare runs can return pages without rows. */
const maxEmptyPages = 5;

async function readWindow(query: RunQuery, cursor: string | null, signal?: AbortSignal): Promise<RunWindow> {
  let next = cursor;
  for (let pages = 1; ; pages += 1) {
    const { data, meta } = await client.call(
      'listAutomationRuns',
      { query: { ...query, limit: windowSize, ...(next === null ? {} : { cursor: next }) } },
      signal === undefined ? {} : { signal },
    );
    next = meta.nextCursor;
    if (data.length > 0 || next === null || pages === maxEmptyPages) return { rows: data, next };
  }
}

/** Reads the newest runs, at least `count` of them if there are so many. */
async function readRows(query: RunQuery, start: string | null, count: number, signal: AbortSignal): Promise<RunWindow> {
  let { rows, next } = await readWindow(query, start, signal);
  while (rows.length < count && next !== null) {
    const window = await readWindow(query, next, signal);
    rows = [...rows, ...window.rows];
    ({ next } = window);
  }
  return { rows, next };
}

/**
 * Forgets a list of an earlier visit if rows below its first page can have changed since: only the first page is read
 * again.
 */
function forgetOld(cache: QueryClient, key: QueryKey): void {
  const old = cache.getQueryData<RunRows>(key);
  if (old?.rows.slice(windowSize).some(({ status }) => !isFinal(status)) === true)
    cache.removeQueries({ queryKey: key, exact: true });
}

/** Collects the events that arrive during requests, because a response can be older than they are. */
class EventRecorder {
  readonly #open = new Set<WorkspaceEvent[]>();

  add(events: readonly WorkspaceEvent[]): void {
    for (const recorded of this.#open) recorded.push(...events);
  }

  /** Waits for a request. @returns its response and the events that arrived meanwhile. */
  async during<Response>(request: Promise<Response>): Promise<[Response, WorkspaceEvent[]]> {
    const recorded: WorkspaceEvent[] = [];
    this.#open.add(recorded);
    try {
      return [await request, recorded];
    } finally {
      this.#open.delete(recorded);
    }
  }
}

/**
 * A list of runs that stays current. New runs appear by themselves only while `keepsRows` returns false; otherwise they are
 * counted, and rows that the reader looks at do not move.
 */
export function useRunList(query: RunQuery, start: string | null, keepsRows: () => boolean) {
  const cache = useQueryClient();
  const key = [...keyOf('listAutomationRuns', { query, start }), 'rows'] as const;
  const [recorder] = useState(() => {
    forgetOld(cache, key);
    return new EventRecorder();
  });
  const mustKeepRows = useRef(keepsRows);
  const mustShowNew = useRef(false);
  const mustReadAll = useRef(false);
  const [more, setMore] = useState<{ isLoading: boolean; error: unknown }>({ isLoading: false, error: null });
  const list = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      // Rows below the first page change by events only, so all are read when events are missing.
      const count = mustReadAll.current ? (cache.getQueryData<RunRows>(key)?.rows.length ?? 0) : 0;
      mustReadAll.current = false;
      const [window, events] = await recorder.during(readRows(query, start, count, signal)).catch((error: unknown) => {
        mustReadAll.current ||= count > 0;
        throw error;
      });
      const isInPlace = mustKeepRows.current() && !mustShowNew.current;
      mustShowNew.current = false;
      return applyEvents(combine(cache.getQueryData<RunRows>(key), window, isInPlace), events).rows;
    },
    // Live events keep it current.
    refetchOnMount: 'always',
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const { refetch } = list;
  const rereads = useRereads();
  useEffect(() => {
    mustKeepRows.current = keepsRows;
  });

  useWorkspaceEvents((events) => {
    recorder.add(events);
    if (events.some(isGap)) mustReadAll.current = true;
    const old = cache.getQueryData<RunRows>(key);
    if (old === undefined) return;
    const { rows, mustRead } = applyEvents(old, events);
    if (rows !== old) cache.setQueryData(key, rows);
    // A list of older runs has no new ones.
    if (mustRead && start === null) rereads.request(key);
  });

  const loadMore = async () => {
    const next = list.data?.next;
    if (next === undefined || next === null || more.isLoading) return;
    setMore({ isLoading: true, error: null });
    try {
      const [window, events] = await recorder.during(readWindow(query, next));
      cache.setQueryData<RunRows>(key, (old) =>
        old?.next === next ? applyEvents(append(old, window), events).rows : old,
      );
      setMore({ isLoading: false, error: null });
    } catch (error) {
      setMore({ isLoading: false, error });
    }
  };

  return {
    ...list,
    more,
    loadMore: () => background(loadMore()),
    /** Shows the runs that were only counted. */
    showNew: () => {
      mustShowNew.current = true;
      background(refetch());
    },
  };
}
