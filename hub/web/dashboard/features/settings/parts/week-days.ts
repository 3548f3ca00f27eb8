import { useLanguage } from '../../../app/language.tsx';

/** A Sunday. */
const sunday = Date.UTC(2023, 0, 1);
const dayMs = 24 * 60 * 60 * 1000;

/** The names of the days of the week, 0 for Sunday. */
export function useDayNames(): (day: number) => string {
  const { variant } = useLanguage();
  const { format } = new Intl.DateTimeFormat(variant, { weekday: 'long', timeZone: 'UTC' });
  return (day) => format(sunday + day * dayMs);
}
