import { expect, test, vi } from 'vitest';
import { schedule as schema } from '../../../../shared/contract/automations/triggers.ts';
import { dueFires, firstFire, previewFires, scheduleProblem } from './due.ts';

const interval = (extra: Record<string, unknown> = {}) =>
  schema.parse({ kind: 'interval', everySeconds: 60, ...extra });
const cron = (extra: Record<string, unknown> = {}) => schema.parse({ kind: 'cron', cron: '*/15 * * * *', ...extra });
const at = (time: string) => new Date(`2026-05-01T${time}Z`);
const times = (dates: Date[]) => dates.map((date) => date.toISOString().slice(11, 19));

test.each([
  ['an interval', interval(), '10:01:00', '10:01:02'],
  ['a cron expression', cron(), '10:15:00', '10:15:02'],
])('a due %s fires once and moves on to its next time', (_name, schedule, due, now) => {
  const { start, missed, next } = dueFires(schedule, at(due), at(now));
  expect([times(start), missed]).toEqual([[due], 0]);
  expect(next?.getTime()).toBeGreaterThan(at(now).getTime());
});

test('missed fires follow onMissed: skip all, catch up on the last one, or catch up on the latest few', () => {
  const missedFor = (onMissed: string, maxCatchUp = 3) =>
    dueFires(interval({ onMissed, maxCatchUp }), at('08:00:00'), at('10:00:30'));
  expect(missedFor('skip')).toMatchObject({ start: [], missed: 121 });
  expect(times(missedFor('last').start)).toEqual(['10:00:00']);
  expect(times(missedFor('all').start)).toEqual(['09:58:00', '09:59:00', '10:00:00']);
  expect(missedFor('all').missed).toBe(118);
  for (const policy of ['skip', 'last', 'all']) expect(times([missedFor(policy).next as Date])).toEqual(['10:01:00']);
});

test('a current fire starts a run after missed fires, and onMissed "last" does not start another run', () => {
  expect(times(dueFires(interval({ onMissed: 'skip' }), at('08:00:00'), at('10:00:05')).start)).toEqual(['10:00:00']);
  expect(times(dueFires(interval({ onMissed: 'last' }), at('08:00:00'), at('10:00:05')).start)).toEqual(['10:00:00']);
});

test('finding the due fires of a cron expression after a year of downtime does not enumerate the whole year', () => {
  const { start, next } = dueFires(
    schema.parse({ kind: 'cron', cron: '* * * * *', onMissed: 'all', maxCatchUp: 100 }),
    new Date('2025-05-01T00:00:00Z'),
    at('10:00:30'),
  );
  expect(start.length).toBe(100);
  expect(times([next as Date])).toEqual(['10:01:00']);
});

test('a schedule with a single time fires once', () => {
  const once = schema.parse({ kind: 'at', at: '2026-05-01T10:00:00Z' });
  expect(firstFire(once, at('09:00:00'))).toEqual(at('10:00:00'));
  expect(dueFires(once, at('10:00:00'), at('10:00:01'))).toEqual({ start: [at('10:00:00')], missed: 0, next: null });
  expect(scheduleProblem(once, at('10:00:01'))).toMatchObject({ path: 'at' });
  expect(previewFires(once, at('09:00:00'), 10)).toEqual([at('10:00:00')]);
});

test('a preview lists the next fires in order', () => {
  expect(times(previewFires(cron(), at('10:00:00'), 3))).toEqual(['10:15:00', '10:30:00', '10:45:00']);
  expect(times(previewFires(interval(), at('10:00:00'), 3))).toEqual(['10:01:00', '10:02:00', '10:03:00']);
});

test.each(['0 * * 2 1#5', '59 0-23 * 2 7#5', '59 23 * 2 1#5', '0 9 29 2 *'])(
  'a preview of a rare expression (%s) ends after 100 years without checking every day',
  (seldom) => {
    const after = new Date('2026-12-01T12:00:00Z');
    const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    try {
      const found = previewFires(
        schema.parse({ kind: 'cron', cron: seldom, timezone: 'America/New_York' }),
        after,
        100,
      );
      expect(found.length).toBeGreaterThan(2);
      expect((found.at(-1) as Date).getUTCFullYear()).toBeLessThan(2128);
      expect(format.mock.calls.length).toBeLessThan(2_000);
    } finally {
      format.mockRestore();
    }
  },
);

test.each(['2026-12-01T12:00:00Z', '2026-11-01T05:30:00Z'])(
  'a preview of an expression with many fires a day checks each fire once (%s)',
  (after) => {
    const many = schema.parse({ kind: 'cron', cron: '* 0-22 * * *', timezone: 'America/New_York' });
    const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    try {
      expect(previewFires(many, new Date(after), 100)).toHaveLength(100);
      expect(format.mock.calls.length).toBeLessThan(1_000);
    } finally {
      format.mockRestore();
    }
  },
);
