import { CronExpressionParser } from 'cron-parser';
import { LRUCache } from 'lru-cache';

/**
 * Due times of schedules in any time zone.
 * A local time that the change to daylight saving time skips moves to the time that clocks show instead: 02:30 becomes
 * 03:30. A local time that occurs twice counts once, the first time. Expressions that match every hour follow elapsed
 * time instead.
 */

const dayMs = 86_400_000;
/** Number of candidate times after which an expression counts as never due. */
const maxSteps = 400;

/** A formatter needs about 70 KiB, so all spellings of a zone share one. */
const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: 64 });
const canonicalNames = new LRUCache<string, string>({ max: 1_000 });

/**
 * The canonical name of a zone: `america/new_york` and `US/Eastern` become `America/New_York`.
 * @throws RangeError when the zone does not exist.
 */
function canonicalName(timezone: string): string {
  let name = canonicalNames.get(timezone);
  if (name === undefined) {
    name = new Intl.DateTimeFormat('en-US', { timeZone: timezone }).resolvedOptions().timeZone;
    canonicalNames.set(timezone, name);
  }
  return name;
}

function formatterOf(timezone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timezone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(timezone, formatter);
  }
  return formatter;
}

/** The local time of a zone at an instant, encoded as if it were UTC, in milliseconds. */
function wallTime(timezone: string, instantMs: number): number {
  if (timezone === 'UTC') return instantMs;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatterOf(timezone).formatToParts(instantMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((instantMs % 1000) + 1000) % 1000);
}

/**
 * The instant of a local time: the first of two when it occurs twice; later by the length of the gap when it is
 * skipped.
 */
function instantOf(timezone: string, wallMs: number): number {
  const offsets = [wallMs - dayMs, wallMs + dayMs].map((at) => offsetAt(timezone, at));
  if (offsets[0] === offsets[1]) return wallMs - (offsets[0] as number);
  const candidates = offsets.map((offset) => wallMs - offset).filter((at) => wallTime(timezone, at) === wallMs);
  return candidates.length > 0 ? Math.min(...candidates) : wallMs - (offsets[0] as number);
}

/** Why a five-field cron expression can't be used, as text for the user; null when it can. */
export function cronProblem(cron: string): string | null {
  if (cron.trim().split(/\s+/).length !== 5)
    return 'must have five fields: minute, hour, day of the month, month, day of the week';
  // cron-parser replaces H by a random value when it has no seed, so each calculation would give another time.
  if (/(^|[\s,])H/.test(cron)) return "can't use H; name the minute and hour";
  try {
    return nextCronFire(cron, 'UTC', new Date()) === null ? 'never comes' : null;
  } catch (error) {
    return `is not a cron expression: ${(error as Error).message}`;
  }
}

/**
 * The first time after an instant at which a cron expression is due; null when it never is. @throws when the expression
 * is invalid.
 */
export const nextCronFire = (cron: string, zone: string, after: Date): Date | null =>
  cronFires(cron, zone, after).next().value ?? null;

/**
 * The times after an instant at which a cron expression is due, in ascending order. @throws when the expression is
 * invalid.
 */
export function cronFires(cron: string, zone: string, after: Date): Generator<Date, undefined> {
  const timezone = canonicalName(zone);
  const isEveryHour = CronExpressionParser.parse(cron).fields.hour.values.length === 24;
  return (isEveryHour ? firesByOffset : firesByClock)(cron, timezone, after.getTime());
}

/**
 * The local times of an expression, encoded as UTC. With time zones, cron-parser fails for some expressions and skips
 * hours.
 */
const wallTimes = (cron: string, afterMs: number) =>
  CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(afterMs) });

/** Due times by local time. A local time fires once even when clocks show it twice. */
function* firesByClock(cron: string, timezone: string, afterMs: number): Generator<Date, undefined> {
  // Skipped times are still due shortly after the gap.
  const offset = Math.min(offsetAt(timezone, afterMs - dayMs / 8), offsetAt(timezone, afterMs + dayMs / 8));
  const walls = wallTimes(cron, afterMs + offset);
  let last = afterMs;
  // A skipped time fires later, possibly after later local times, so it waits here for the first time outside the gap.
  let waiting: number[] = [];
  for (let tries = 0; tries < maxSteps; tries += 1) {
    const wall = walls.next().toDate().getTime();
    const at = instantOf(timezone, wall);
    waiting.push(at);
    if (wallTime(timezone, at) > wall) continue;
    const ready = waiting.filter((each) => each <= at).toSorted((one, other) => one - other);
    waiting = waiting.filter((each) => each > at);
    for (const each of ready) {
      if (each <= last) continue;
      yield new Date(each);
      last = each;
      tries = 0;
    }
  }
  return undefined;
}

/**
 * Due times by elapsed time, for expressions that match every hour. Uses one UTC offset of the zone until the offset
 * changes.
 */
function* firesByOffset(cron: string, timezone: string, afterMs: number): Generator<Date, undefined> {
  let fromMs = afterMs;
  for (let offset = offsetAt(timezone, fromMs); ; offset = offsetAt(timezone, fromMs + 1)) {
    const walls = wallTimes(cron, fromMs + offset);
    let change: number | null = null;
    while (change === null) {
      const at = walls.next().toDate().getTime() - offset;
      // Rare expressions are not due for years at any offset. Continue shortly before the next time.
      change = at - fromMs > 4 * dayMs ? at - 2 * dayMs : nextOffsetChange(timezone, fromMs, offset, at);
      if (change !== null) break;
      yield new Date(at);
      fromMs = at;
    }
    // The expression can match the instant of the change itself.
    fromMs = change - 1;
  }
}

/** Offset changes of a zone are at least this far apart. */
const minOffsetDurationMs = 7 * dayMs;

/**
 * The first instant between `fromMs` and `untilMs` at which the offset of a zone differs from `offset`; null when there
 * is none.
 */
function nextOffsetChange(timezone: string, fromMs: number, offset: number, untilMs: number): number | null {
  for (let low = fromMs; low < untilMs;) {
    let high = Math.min(low + minOffsetDurationMs, untilMs);
    if (offsetAt(timezone, high) === offset) {
      low = high;
      continue;
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetAt(timezone, middle) === offset) low = middle;
      else high = middle;
    }
    return high;
  }
  return null;
}

const offsetAt = (timezone: string, instantMs: number) => wallTime(timezone, instantMs) - instantMs;

export interface DailyPeriod {
  /** `HH:MM`. */
  from: string;
  /** `HH:MM`. It is on the next day when it is earlier than `from`. */
  to: string;
  timezone: string;
  /** Weekdays on which the period begins, 0 for Sunday; every day when undefined. */
  days?: number[] | undefined;
}

/** The end of the daily period that contains an instant; null when the instant is outside. */
export function endOfPeriod({ from, to, timezone: zone, days }: DailyPeriod, at: Date): Date | null {
  const timezone = canonicalName(zone);
  const minutes = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
  const atMs = at.getTime();
  const wall = wallTime(timezone, atMs);
  const today = Math.floor(wall / dayMs) * dayMs;
  for (const midnight of [today, today - dayMs]) {
    const weekday = new Date(midnight).getUTCDay();
    if (days !== undefined && !days.includes(weekday)) continue;
    const begin = instantOf(timezone, midnight + minutes(from) * 60_000);
    const end = instantOf(timezone, midnight + (minutes(to) > minutes(from) ? 0 : dayMs) + minutes(to) * 60_000);
    if (begin <= atMs && atMs < end) return new Date(end);
  }
  return null;
}
