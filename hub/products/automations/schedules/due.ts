import type { Schedule } from '../../../../shared/contract/automations/triggers.ts';
import { cronFires, cronProblem, nextCronFire } from '../../../platform/calendar/calendar.ts';

/** Delay above which a fire counts as missed, in milliseconds. A smaller delay fires normally. */
const missedAfterMs = 10_000;
/** Length of the first look-back for missed fires of a cron expression, in milliseconds. */
const firstLookBackMs = 4 * 3_600_000;

/** A semantic error of a schedule and the field that contains it. */
export function scheduleProblem(schedule: Schedule, now: Date): { path: string; message: string } | null {
  if (schedule.kind === 'cron') {
    const problem = cronProblem(schedule.cron);
    return problem === null ? null : { path: 'cron', message: problem };
  }
  if (schedule.kind === 'at' && new Date(schedule.at) <= now)
    return { path: 'at', message: 'is in the past; give a future time' };
  return null;
}

/** The first fire of a schedule that starts now. */
export function firstFire(schedule: Schedule, now: Date): Date | null {
  switch (schedule.kind) {
    case 'interval':
      return new Date(now.getTime() + schedule.everySeconds * 1000);
    case 'cron':
      return nextCronFire(schedule.cron, schedule.timezone, now);
    case 'at':
      return new Date(schedule.at) > now ? new Date(schedule.at) : null;
  }
}

/** Years that a preview looks ahead. Some expressions fire once in 28 or 40 years. */
const previewYears = 100;

/** The next `count` fires after an instant; those of a cron expression within 100 years. */
export function previewFires(schedule: Schedule, after: Date, count: number): Date[] {
  const fires: Date[] = [];
  if (schedule.kind === 'cron') {
    const untilMs = after.getTime() + previewYears * 366 * 86_400_000;
    for (const at of cronFires(schedule.cron, schedule.timezone, after)) {
      if (at.getTime() > untilMs || fires.push(at) === count) break;
    }
    return fires;
  }
  let at: Date | null = after;
  while (fires.length < count) {
    at = firstFire(schedule, at);
    if (at === null) break;
    fires.push(at);
    if (schedule.kind === 'at') break;
  }
  return fires;
}

export interface DueFires {
  /** Fires that start a run now, oldest first. */
  start: Date[];
  /** Number of other due fires, which are skipped. */
  missed: number;
  /** The next fire after `now`. */
  next: Date | null;
}

/** Fires from `nextRunAt` to `now`: the latest `maxCount` of them, and their total number. */
function listDueFires(
  schedule: Schedule,
  nextRunAt: Date,
  now: Date,
  maxCount: number,
): { latest: Date[]; count: number; next: Date | null } {
  if (schedule.kind === 'at') return { latest: [nextRunAt], count: 1, next: null };
  if (schedule.kind === 'interval') {
    const everyMs = schedule.everySeconds * 1000;
    const count = Math.floor((now.getTime() - nextRunAt.getTime()) / everyMs) + 1;
    const latest = Array.from(
      { length: Math.min(count, maxCount) },
      (_unused, index) => new Date(nextRunAt.getTime() + (count - Math.min(count, maxCount) + index) * everyMs),
    );
    return { latest, count, next: new Date(nextRunAt.getTime() + count * everyMs) };
  }
  // Only the latest fires matter, so after a long downtime the earlier fires are not enumerated.
  for (let lookBackMs = firstLookBackMs; ; lookBackMs *= 8) {
    const from = Math.max(nextRunAt.getTime(), now.getTime() - lookBackMs);
    const all: Date[] = from === nextRunAt.getTime() ? [nextRunAt] : [];
    let next: Date | null = null;
    for (const at of cronFires(schedule.cron, schedule.timezone, new Date(from))) {
      if (at > now) {
        next = at;
        break;
      }
      all.push(at);
    }
    if (from === nextRunAt.getTime() || all.length >= maxCount)
      return { latest: all.slice(-maxCount), count: all.length, next };
  }
}

/** The fires of a due schedule to start now, according to its `onMissed`. */
export function dueFires(schedule: Schedule, nextRunAt: Date, now: Date): DueFires {
  const { latest, count, next } = listDueFires(schedule, nextRunAt, now, 100 + schedule.maxCatchUp);
  const onTime = latest.filter((at) => now.getTime() - at.getTime() <= missedAfterMs);
  const late = latest.filter((at) => now.getTime() - at.getTime() > missedAfterMs);
  const caughtUp = { skip: [], last: onTime.length === 0 ? late.slice(-1) : [], all: late.slice(-schedule.maxCatchUp) }[
    schedule.onMissed
  ];
  return { start: [...caughtUp, ...onTime], missed: count - caughtUp.length - onTime.length, next };
}
