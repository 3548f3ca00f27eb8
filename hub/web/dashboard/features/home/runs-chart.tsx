import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RunSummary } from '../../../../../shared/client/client.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Section } from '../../ui/layout.tsx';
import { runsLink } from './links.ts';
import { usePeriods } from './period.ts';
import type { Period } from './period.ts';
import { useRereadAfter } from './use-reread-after.ts';

/** If the day has no more runs, they are counted here. */
const listedRuns = 100;
/** Past periods seldom change. */
const staleMs = 300_000;

interface Bar extends Period {
  count: number;
  failed: number;
}

/** The number of runs of a period, and of those that failed. */
const countsOf = ({ from, to }: Period) => [
  query('estimateAutomationRuns', { query: { from, to } }),
  query('estimateAutomationRuns', { query: { from, to, status: 'failed' } }),
];

/** Counts the runs of a short list. */
function barsOf(periods: readonly Period[], runs: readonly RunSummary[]): Bar[] {
  return periods.map((period) => {
    const within = runs.filter(({ queuedAt }) => queuedAt >= period.from && queuedAt < period.to);
    return { ...period, count: within.length, failed: within.filter(({ status }) => status === 'failed').length };
  });
}

/** The runs and the failed runs of each period; `bars` is null until all are read. */
function useBars(): { bars: Bar[] | null; error: Error | null; retry: () => unknown } {
  const periods = usePeriods();
  const { from } = periods[0] as Period;
  const { data: list, error, refetch } = useQuery(query('listAutomationRuns', { query: { from, limit: listedRuns } }));
  const isLong = list !== undefined && list.meta.nextCursor !== null;
  useRereadAfter(
    'run',
    isLong ? periods.slice(-1).flatMap((present) => countsOf(present).map(({ queryKey }) => queryKey)) : [],
  );
  const counted = useQueries({
    queries: isLong
      ? periods.flatMap((period) => countsOf(period).map((options) => ({ ...options, staleTime: staleMs })))
      : [],
  });
  const failed = counted.find((result) => result.error !== null && result.data === undefined);
  if (list === undefined) return { bars: null, error, retry: refetch };
  if (!isLong) return { bars: barsOf(periods, list.data), error: null, retry: refetch };
  const counts = counted.map(({ data }) => data?.count);
  return {
    bars: counts.some((count) => count === undefined)
      ? null
      : periods.map((period, index) => ({
          ...period,
          count: counts[2 * index] ?? 0,
          failed: counts[2 * index + 1] ?? 0,
        })),
    error: failed?.error ?? null,
    retry: () => failed?.refetch(),
  };
}

/** Runs of the last 24 hours as bars, the failed ones at the foot. Each bar leads to its runs. */
export function RunsChart() {
  const { words, format, time } = useLanguage();
  const texts = words.home;
  const { bars, error, retry } = useBars();
  const largest = Math.max(1, ...(bars ?? []).map(({ count }) => count));
  const shareOf = (count: number) => `${(100 * count) / largest}%`;
  const isEmpty = bars !== null && bars.every(({ count }) => count === 0);
  return (
    <Section
      title={texts.chart}
      actions={
        bars !== null &&
        !isEmpty && (
          <ul aria-hidden className="flex flex-wrap gap-x-3 text-sm text-text-muted">
            <li className="flex items-center gap-1.5">
              <span className="size-2 rounded-full bg-chart-1" />
              {words.common.runs}
            </li>
            <li className="flex items-center gap-1.5">
              <span className="size-2 rounded-full bg-danger" />
              {texts.failed}
            </li>
            <li>{format(texts.highest, { count: largest })}</li>
          </ul>
        )
      }
    >
      {error !== null ? (
        <LoadError error={error} onRetry={retry} />
      ) : isEmpty ? (
        <p className="text-text-muted">{texts.noRuns}</p>
      ) : (
        <>
          <ol className="flex h-32 items-stretch gap-1 border-b" aria-label={texts.chartText}>
            {(bars ?? []).map(({ from, to, count, failed }) => {
              const label = format(texts.bar, { from: time(new Date(from)), to: time(new Date(to)), count, failed });
              return (
                <li key={from} className="flex min-w-0 flex-1">
                  <Link
                    {...runsLink({ from, to })}
                    title={label}
                    aria-label={label}
                    className="flex w-full flex-col justify-end rounded-t-sm hover:bg-hover"
                  >
                    <span
                      className="w-full rounded-t-sm bg-chart-1"
                      style={{ height: shareOf(Math.max(0, count - failed)), minHeight: count > failed ? 2 : 0 }}
                    />
                    <span
                      className="w-full bg-danger"
                      style={{ height: shareOf(failed), minHeight: failed > 0 ? 2 : 0 }}
                    />
                  </Link>
                </li>
              );
            })}
          </ol>
          {bars !== null && (
            <div aria-hidden className="mt-1 flex justify-between text-xs text-text-muted">
              {[bars[0], bars[bars.length / 2]].map((bar) => (
                <span key={bar?.from}>{bar === undefined ? '' : time(new Date(bar.from))}</span>
              ))}
              <span>{time(new Date(bars.at(-1)?.to ?? 0))}</span>
            </div>
          )}
        </>
      )}
    </Section>
  );
}
