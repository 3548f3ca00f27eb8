/** The time of an `<input type="datetime-local">` in UTC, as the API takes it; undefined for an empty input. */
export const instantOf = (local: string): string | undefined =>
  local === '' ? undefined : new Date(local).toISOString();

/** A time as the value of an `<input type="datetime-local">`. */
export function localInputOf(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
