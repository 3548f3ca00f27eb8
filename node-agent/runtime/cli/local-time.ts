/** A time in local time with its offset, such as `2026-11-23 12:04:05 +01:00`. Text that is no time stays as it is. */
export function localTime(iso: string | number): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  const two = (value: number) => String(Math.trunc(Math.abs(value))).padStart(2, '0');
  const offset = -at.getTimezoneOffset();
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`;
}
