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
