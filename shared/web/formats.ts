/** How a locale writes numbers. */
export interface NumberFormats {
  number: (value: number) => string;
  /** A size such as `200 bytes`, `12 kB`, `1.5 MB` or `24 GB`; a kilobyte has 1,024 bytes. */
  bytes: (bytes: number) => string;
  /** A duration such as `1:02` or `1:00:05`; parts of a second are dropped. */
  clock: (seconds: number) => string;
}

/** How a locale writes times, in the time zone of the reader. */
export interface TimeFormats {
  /** The time of day. */
  time: (at: Date) => string;
  /** A day: one of `words`, else with its weekday, or in another year than `now` with that year. */
  day: (at: Date, now: Date, words: { today: string; yesterday: string }) => string;
  /** Date with year, and time of day. */
  dateTime: (at: Date) => string;
  /** The time of day, with the date where it is not the day of `now`. */
  shortDateTime: (at: Date, now: Date) => string;
  /** Distance in time from now, rounded up: `in 5 minutes`, or `2 hours ago` for a negative one. */
  relative: (ms: number) => string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const kilobyte = 1024;
const megabyte = 1024 * kilobyte;
const gigabyte = 1024 * megabyte;

/** Formats of a locale; without one, of the browser's. */
export function createNumberFormats(locale?: string): NumberFormats {
  const { format: number } = new Intl.NumberFormat(locale);
  const { format: whole } = new Intl.NumberFormat(locale, { useGrouping: false });
  const { format: twoDigits } = new Intl.NumberFormat(locale, { minimumIntegerDigits: 2 });
  const unit = (value: number, name: string, maximumFractionDigits: number) =>
    // Few readers know the symbol of a byte.
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: name === 'byte' ? 'long' : 'short',
      maximumFractionDigits,
    }).format(value);
  return {
    number,
    bytes(bytes) {
      if (bytes < kilobyte) return unit(bytes, 'byte', 0);
      if (bytes < megabyte) return unit(Math.round(bytes / kilobyte), 'kilobyte', 0);
      if (bytes < gigabyte) return unit(bytes / megabyte, 'megabyte', 1);
      return unit(bytes / gigabyte, 'gigabyte', 1);
    },
    clock(seconds) {
      const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
      const rest = twoDigits(Math.floor(seconds) % 60);
      return hours > 0 ? `${whole(hours)}:${twoDigits(minutes)}:${rest}` : `${whole(minutes)}:${rest}`;
    },
  };
}

const isSameDay = (one: Date, other: Date) => one.toDateString() === other.toDateString();

/** Formats of a locale; without one, of the browser's. */
export function createTimeFormats(locale?: string): TimeFormats {
  const date = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, options);
  const times = date({ timeStyle: 'short' });
  const days = date({ weekday: 'long', day: 'numeric', month: 'long' });
  const daysWithYear = date({ day: 'numeric', month: 'long', year: 'numeric' });
  const dateTimes = date({ dateStyle: 'medium', timeStyle: 'short' });
  const distances = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  return {
    time: (at) => times.format(at),
    day(at, now, { today, yesterday }) {
      if (isSameDay(at, now)) return today;
      const before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
      if (isSameDay(at, before)) return yesterday;
      return (at.getFullYear() === now.getFullYear() ? days : daysWithYear).format(at);
    },
    dateTime: (at) => dateTimes.format(at),
    shortDateTime: (at, now) => (isSameDay(at, now) ? times : dateTimes).format(at),
    relative(ms) {
      const size = Math.abs(ms);
      if (size >= dayMs) return distances.format(Math.ceil(ms / dayMs), 'day');
      if (size >= hourMs) return distances.format(Math.ceil(ms / hourMs), 'hour');
      return distances.format(Math.ceil(ms / minuteMs), 'minute');
    },
  };
}
