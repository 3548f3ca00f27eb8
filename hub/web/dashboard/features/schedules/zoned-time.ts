import { useLanguage } from '../../app/language.tsx';

/** The time zone of the reader. */
export const readerZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Difference of a time zone from UTC at a time, such as `GMT+01:00`. */
const offsetOf = (at: string, timeZone: string): string =>
  new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(new Date(at))
    .find(({ type }) => type === 'timeZoneName')?.value ?? '';

/** Whether the clocks of a zone change between two times; between now and the second one without the first. */
export function hasClockChange(before: string | undefined, at: string, timeZone: string): boolean {
  return offsetOf(before ?? new Date().toISOString(), timeZone) !== offsetOf(at, timeZone);
}

/** Writes a time with its weekday in a time zone; in that of the reader when omitted. */
export function useZonedTime(): (at: string, timeZone?: string) => string {
  const { variant } = useLanguage();
  return (at, timeZone) =>
    new Intl.DateTimeFormat(variant, {
      weekday: 'short',
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      timeZone,
      timeZoneName: 'short',
    }).format(new Date(at));
}
