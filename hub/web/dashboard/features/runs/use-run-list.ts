import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { client, keyOf } from '../../app/api.ts';
import { useWorkspaceEvents } from '../../app/live-updates.tsx';
import type { RunQuery } from './filters.ts';
import { append, applyEvents, combine } from './run-rows.ts';
import type { RunRows, RunWindow } from './run-rows.ts';

/** Runs of one page of the API. */
const windowSize = 100;
/** Rows that the page keeps. Older runs open as a list of their own. */
export const maxRows = 1_000;
/** The newest runs are read again at most this often, however many events arrive. */
const rereadMs = 1_000;
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

/**
 * A list of runs that stays current. New runs appear by themselves only while `isHeld` returns false; otherwise they are
 * counted, and rows that the reader looks at do not move.
 */
export function useRunList(query: RunQuery, start: string | null, isHeld: () => boolean) {
  const cache = useQueryClient();
  const key = [...keyOf('listAutomationRuns', { query, start }), 'rows'] as const;
  const held = useRef(isHeld);
  const [more, setMore] = useState<{ isLoading: boolean; error: unknown }>({ isLoading: false, error: null });
  const list = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) =>
      combine(cache.getQueryData<RunRows>(key), await readWindow(query, start, signal), held.current()),
    // Live events keep it current.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  const { refetch } = list;
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    held.current = isHeld;
  });
  useEffect(() => () => clearTimeout(timer.current), []);

  useWorkspaceEvents((events) => {
    const old = cache.getQueryData<RunRows>(key);
    if (old === undefined) return;
    const { rows, mustRead } = applyEvents(old, events);
    if (rows !== old) cache.setQueryData(key, rows);
    // A list of older runs has no new ones.
    if (!mustRead || start !== null) return;
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      background(refetch());
    }, rereadMs);
  });

  const loadMore = async () => {
    const next = list.data?.next;
    if (next === undefined || next === null || more.isLoading) return;
    setMore({ isLoading: true, error: null });
    try {
      const window = await readWindow(query, next);
      cache.setQueryData<RunRows>(key, (old) => (old?.next === next ? append(old, window) : old));
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
      const wasHeld = held.current;
      held.current = () => false;
      background(refetch().finally(() => (held.current = wasHeld)));
    },
  };
}
