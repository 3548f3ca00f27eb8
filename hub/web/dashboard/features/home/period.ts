import { useNow } from '../../app/now.ts';

const hourMs = 3_600_000;
/** Bars of the chart. In a busy workspace, each needs two requests. */
const bars = 12;
const barMs = 2 * hourMs;

export interface Period {
  from: string;
  to: string;
}

/** Periods of two hours that end with the present one. Their edges change only on the hour, so responses stay cached. */
export function usePeriods(): Period[] {
  const hour = Math.floor(useNow() / hourMs);
  const end = (hour + 1) * hourMs;
  return Array.from({ length: bars }, (_, index) => {
    const from = end - (bars - index) * barMs;
    return { from: new Date(from).toISOString(), to: new Date(from + barMs).toISOString() };
  });
}

/** The start of the last 24 hours, on the hour. */
export const useDayStart = (): string => (usePeriods()[0] as Period).from;
