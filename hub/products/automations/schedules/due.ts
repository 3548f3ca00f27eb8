import type { Schedule } from '../../../../shared/contract/automations/triggers.ts';
import { cronFires, cronProblem, nextCronFire } from '../../../platform/calendar/calendar.ts';

/** A fire that is so late was missed while nobody looked, in milliseconds; what is less late is just fired. */
const missedAfterMs = 10_000;
/** How far back the latest missed fires of a cron expression are looked for at first, in milliseconds. */
const firstLookBackMs = 4 * 3_600_000;

/** What is wrong with a schedule beyond its shape, with the field that has it. */
export function scheduleProblem(schedule: Schedule, now: Date): { path: string; message: string } | null {
  if (schedule.kind === 'cron') {
    const problem = cronProblem(schedule.cron);
    return problem === null ? null : { path: 'cron', message: problem };
  }
  if (schedule.kind === 'at' && new Date(schedule.at) <= now)
    return { path: 'at', message: 'lies in the past; give a time to come' };
  return null;
}

/** The first fire of a schedule that begins now. */
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

/** Years that a preview looks ahead: some expressions fire once in 28 or 40 years. */
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
  /** How many more fell due and are not made up for. */
  missed: number;
  /** The fire after these. */
  next: Date | null;
}

/** Fires from `nextRunAt` to `now`, at most the latest `most` of them, and how many there were in all. */
function fallenDue(
  schedule: Schedule,
  nextRunAt: Date,
  now: Date,
  most: number,
): { latest: Date[]; count: number; next: Date | null } {
  if (schedule.kind === 'at') return { latest: [nextRunAt], count: 1, next: null };
  if (schedule.kind === 'interval') {
    const everyMs = schedule.everySeconds * 1000;
    const count = Math.floor((now.getTime() - nextRunAt.getTime()) / everyMs) + 1;
    const latest = Array.from(
      { length: Math.min(count, most) },
      (_unused, index) => new Date(nextRunAt.getTime() + (count - Math.min(count, most) + index) * everyMs),
    );
    return { latest, count, next: new Date(nextRunAt.getTime() + count * everyMs) };
  }
  // Only the latest count, so after a long time away the earlier ones need not be walked through.
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
    if (from === nextRunAt.getTime() || all.length >= most)
      return { latest: all.slice(-most), count: all.length, next };
  }
}

/** What is to be done about a schedule whose next fire has come, by its `onMissed`. */
export function dueFires(schedule: Schedule, nextRunAt: Date, now: Date): DueFires {
  const { latest, count, next } = fallenDue(schedule, nextRunAt, now, 100 + schedule.maxCatchUp);
  const fresh = latest.filter((at) => now.getTime() - at.getTime() <= missedAfterMs);
  const late = latest.filter((at) => now.getTime() - at.getTime() > missedAfterMs);
  const madeUp = { skip: [], last: fresh.length === 0 ? late.slice(-1) : [], all: late.slice(-schedule.maxCatchUp) }[
    schedule.onMissed
  ];
  return { start: [...madeUp, ...fresh], missed: count - madeUp.length - fresh.length, next };
}
