import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { runQueryOf } from './filters.ts';
import type { RunFilters } from './filters.ts';

/** Number of runs that match filters; undefined until it is known. */
export function useRunEstimate(filters: RunFilters, isEnabled = true) {
  const input = useMemo(() => runQueryOf(filters, Date.now()), [JSON.stringify(filters)]);
  return useQuery({
    ...query('estimateAutomationRuns', { query: input }),
    refetchInterval: 30_000,
    enabled: isEnabled,
  }).data;
}

/** Writes a number of runs: exact, or "about N". */
export function useCountText(): (estimate: { count: number; isExact: boolean }) => string {
  const { number, format, words } = useLanguage();
  return ({ count, isExact }) => (isExact ? number(count) : format(words.runs.about, { count }));
}
