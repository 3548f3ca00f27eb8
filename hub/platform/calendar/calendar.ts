import { CronExpressionParser } from 'cron-parser';
import { LRUCache } from 'lru-cache';

/**
 * When things are due, in any time zone. A time of day that a change to summer time leaves out counts as the time that the
 * clocks show instead (02:30 becomes 03:30); one that the change back brings twice counts once, the first time. Expressions that
 * run in every hour follow the hours that really pass.
 */

const dayMs = 86_400_000;
/** Fires that are looked at before an expression is held to have none. */
const maxSteps = 400;

/** A formatter takes some 70 KiB: one for each zone that is in use, whatever way it is spelled. */
const formatters = new LRUCache<string, Intl.DateTimeFormat>({ max: 64 });
const canonicalNames = new LRUCache<string, string>({ max: 1_000 });

/** The one spelling of a zone: `america/new_york` and `US/Eastern` are `America/New_York`. @throws RangeError when there is no such zone. */
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

/** What the clocks of a zone show at an instant, as if that were UTC, in milliseconds. */
function wallTime(timezone: string, instantMs: number): number {
  if (timezone === 'UTC') return instantMs;
  const parts: Record<string, number> = {};
  for (const { type, value } of formatterOf(timezone).formatToParts(instantMs)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((instantMs % 1000) + 1000) % 1000);
}

/** The instant at which the clocks of a zone show a time: the first of two, and one in a gap moved on by its length. */
function instantOf(timezone: string, wallMs: number): number {
  const offsets = [wallMs - dayMs, wallMs + dayMs].map((at) => offsetAt(timezone, at));
  if (offsets[0] === offsets[1]) return wallMs - (offsets[0] as number);
  const fitting = offsets.map((offset) => wallMs - offset).filter((at) => wallTime(timezone, at) === wallMs);
  return fitting.length > 0 ? Math.min(...fitting) : wallMs - (offsets[0] as number);
}

/**
 * What is wrong with a five-field cron expression, for people; null when it can be used.
 */
export function cronProblem(cron: string): string | null {
  if (cron.trim().split(/\s+/).length !== 5)
    return 'must have five fields: minute, hour, day of the month, month, day of the week';
  // A hash of nothing would be another time at each look.
  if (/(^|[\s,])H/.test(cron)) return "can't use H; name the minute and hour";
  try {
    return nextCronFire(cron, 'UTC', new Date()) === null ? 'never comes' : null;
  } catch (error) {
    return `is not a cron expression: ${(error as Error).message}`;
  }
}

/** The first time after an instant at which a cron expression is due; null when it never is. @throws when it can't be parsed. */
export const nextCronFire = (cron: string, zone: string, after: Date): Date | null =>
  cronFires(cron, zone, after).next().value ?? null;

/** The times after an instant at which a cron expression is due, one after the other. @throws when it can't be parsed. */
export function cronFires(cron: string, zone: string, after: Date): Generator<Date, undefined> {
  const timezone = canonicalName(zone);
  const isEveryHour = CronExpressionParser.parse(cron).fields.hour.values.length === 24;
  return (isEveryHour ? firesByOffset : firesByClock)(cron, timezone, after.getTime());
}

/** The wall-clock times of an expression, as UTC. With time zones, the parser fails for some expressions and misses hours. */
const wallTimes = (cron: string, afterMs: number) =>
  CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(afterMs) });

/** Times of day, each once a day. */
function* firesByClock(cron: string, timezone: string, afterMs: number): Generator<Date, undefined> {
  // After a gap, times of the gap are still due: they fire later by the length of the gap.
  const offset = Math.min(offsetAt(timezone, afterMs - dayMs / 8), offsetAt(timezone, afterMs + dayMs / 8));
  const walls = wallTimes(cron, afterMs + offset);
  let last = afterMs;
  // A time in a gap fires later, possibly after later times of day. It waits for the first time outside the gap.
  let waiting: number[] = [];
  for (let tries = 0; tries < maxSteps; tries += 1) {
    const wall = walls.next().toDate().getTime();
    const at = instantOf(timezone, wall);
    waiting.push(at);
    if (wallTime(timezone, at) > wall) continue;
    const reached = waiting.filter((each) => each <= at).toSorted((one, other) => one - other);
    waiting = waiting.filter((each) => each > at);
    for (const each of reached) {
      if (each <= last) continue;
      yield new Date(each);
      last = each;
      tries = 0;
    }
  }
  return undefined;
}

/** Times of an expression that runs in every hour, in elapsed time: uses the offset of the zone until the offset changes, then the new one. */
function* firesByOffset(cron: string, timezone: string, afterMs: number): Generator<Date, undefined> {
  let fromMs = afterMs;
  for (let offset = offsetAt(timezone, fromMs); ; offset = offsetAt(timezone, fromMs + 1)) {
    const walls = wallTimes(cron, fromMs + offset);
    let change: number | null = null;
    while (change === null) {
      const at = walls.next().toDate().getTime() - offset;
      // Rare expressions have no time for years, whatever the offset is. Continue shortly before the next time.
      change = at - fromMs > 4 * dayMs ? at - 2 * dayMs : nextOffsetChange(timezone, fromMs, offset, at);
      if (change !== null) break;
      yield new Date(at);
      fromMs = at;
    }
    // The expression can match the instant of the change itself.
    fromMs = change - 1;
  }
}

/** Two changes of an offset are further apart than this. */
const shortestOffsetMs = 7 * dayMs;

/** The first instant between `fromMs` and `untilMs` at which the offset of a zone differs from `offset`; null when there is none. */
function nextOffsetChange(timezone: string, fromMs: number, offset: number, untilMs: number): number | null {
  for (let low = fromMs; low < untilMs;) {
    let high = Math.min(low + shortestOffsetMs, untilMs);
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
  /** `HH:MM`; earlier than `from` when it lies on the next day. */
  to: string;
  timezone: string;
  /** Days of the week on which it begins, 0 for Sunday; every day when left out. */
  days?: number[] | undefined;
}

/** The end of a daily period that an instant lies in; null when it lies in none. */
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
