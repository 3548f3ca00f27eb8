import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Section } from '../../ui/layout.tsx';
import { runsLink } from './links.ts';
import { usePeriods } from './period.ts';
import type { Period } from './period.ts';

/** Past periods seldom change. */
const staleMs = 60_000;

interface Bar extends Period {
  count: number;
  failed: number;
}

/** The runs and the failed runs of each period; null until all are read. */
function useBars(): Bar[] | null {
  const periods = usePeriods();
  return useQueries({
    queries: periods.flatMap((period) => [
      { ...query('estimateAutomationRuns', { query: { ...period } }), staleTime: staleMs },
      { ...query('estimateAutomationRuns', { query: { ...period, status: 'failed' } }), staleTime: staleMs },
    ]),
    combine(results) {
      const counts = results.map(({ data }) => data?.count);
      if (counts.some((count) => count === undefined)) return null;
      return periods.map((period, index) => ({
        ...period,
        count: counts[2 * index] ?? 0,
        failed: counts[2 * index + 1] ?? 0,
      }));
    },
  });
}

/** Runs of the last 24 hours as bars, the failed ones at the foot. Each bar leads to its runs. */
export function RunsChart() {
  const { words, format, time, number } = useLanguage();
  const texts = words.home;
  const bars = useBars();
  const largest = Math.max(1, ...(bars ?? []).map(({ count }) => count));
  const shareOf = (count: number) => `${(100 * count) / largest}%`;
  const isEmpty = bars !== null && bars.every(({ count }) => count === 0);
  return (
    <Section
      title={texts.chart}
      actions={bars !== null && !isEmpty && <span className="text-sm text-text-muted">{number(largest)}</span>}
    >
      {isEmpty ? (
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
                      className="w-full rounded-t-sm bg-success-indicator"
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
