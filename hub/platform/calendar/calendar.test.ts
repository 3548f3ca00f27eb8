import { describe, expect, test, vi } from 'vitest';
import { cronProblem, endOfPeriod, nextCronFire } from './calendar.ts';

function fires(cron: string, timezone: string, after: string, count: number): string[] {
  const all: string[] = [];
  let at = new Date(after);
  for (let index = 0; index < count; index += 1) {
    at = nextCronFire(cron, timezone, at) as Date;
    all.push(at.toISOString().replace(':00.000Z', 'Z'));
  }
  return all;
}

test('a daily schedule fires at the same local hour before and after both clock changes', () => {
  expect(fires('0 9 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual([
    '2026-03-28T08:00Z',
    '2026-03-29T07:00Z',
    '2026-03-30T07:00Z',
  ]);
  expect(fires('0 9 * * *', 'Europe/Berlin', '2026-10-24T00:00:00Z', 3)).toEqual([
    '2026-10-24T07:00Z',
    '2026-10-25T08:00Z',
    '2026-10-26T08:00Z',
  ]);
});

test('a local time in a clock gap fires once, later by the length of the gap, also at midnight', () => {
  expect(fires('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
    '2026-03-29T01:30Z',
    '2026-03-30T00:30Z',
  ]);
  expect(fires('0 0 * * *', 'America/Sao_Paulo', '2017-10-14T12:00:00Z', 2)).toEqual([
    '2017-10-15T03:00Z',
    '2017-10-16T02:00Z',
  ]);
  expect(fires('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 2)).toEqual([
    '2026-10-03T15:45Z',
    '2026-10-04T15:15Z',
  ]);
});

test('a local time that occurs twice fires once', () => {
  expect(fires('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
    '2026-10-25T00:30Z',
    '2026-10-26T01:30Z',
  ]);
  // Computed from an instant between the two occurrences.
  expect(fires('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['2026-10-26T01:30Z']);
});

test('a time moved out of a clock gap fires in chronological order with later times', () => {
  // Here clocks jump from 02:00 to 02:30.
  expect(fires('28,33,42 1-3 * * *', 'Australia/Lord_Howe', '2027-10-02T15:00:00Z', 6)).toEqual([
    '2027-10-02T15:03Z',
    '2027-10-02T15:12Z',
    '2027-10-02T15:33Z',
    '2027-10-02T15:42Z',
    '2027-10-02T15:58Z',
    '2027-10-02T16:28Z',
  ]);
});

test('an expression that matches every hour fires in elapsed time across clock changes', () => {
  expect(fires('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 4)).toEqual([
    '2026-10-25T00:30Z',
    '2026-10-25T01:00Z',
    '2026-10-25T01:30Z',
    '2026-10-25T02:00Z',
  ]);
  expect(fires('0 * * * *', 'Europe/Berlin', '2026-03-29T00:30:00Z', 2)).toEqual([
    '2026-03-29T01:00Z',
    '2026-03-29T02:00Z',
  ]);
});

describe.each([
  ['Australia/Lord_Howe', '2027-04-03T15:00:00Z', 'a change of 30 minutes'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z', 'a change of 30 minutes'],
  ['America/Havana', '2026-11-01T05:00:00Z', 'a change at midnight'],
  ['Atlantic/Azores', '2026-10-25T01:00:00Z', 'a change at midnight'],
  ['Europe/Berlin', '2027-03-28T01:00:00Z', 'an hour that is skipped'],
])('around the clock change of %s at %s (%s)', (zone, change) => {
  const from = Date.parse(change) - 12 * 3_600_000;
  const until = from + 48 * 3_600_000;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    minute: 'numeric',
    weekday: 'short',
  });

  test.each([
    ['0 * * * *', (minute: number) => minute === 0],
    ['30 * * * *', (minute: number) => minute === 30],
    ['5 0-23 * * *', (minute: number) => minute === 5],
    ['*/15 * * * *', (minute: number) => minute % 15 === 0],
    ['* * * * SUN', (_minute: number, weekday: string) => weekday === 'Sun'],
    ['0 * * * SUN', (minute: number, weekday: string) => minute === 0 && weekday === 'Sun'],
  ] as const)('%s fires at every minute whose local time matches', (cron, matches) => {
    const expected: string[] = [];
    for (let at = from + 60_000; at <= until; at += 60_000) {
      const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
      if (matches(Number(parts['minute']), String(parts['weekday']))) expected.push(new Date(at).toISOString());
    }
    const found: string[] = [];
    for (let at = nextCronFire(cron, zone, new Date(from)); at !== null && at.getTime() <= until;) {
      found.push(at.toISOString());
      at = nextCronFire(cron, zone, at);
    }
    expect(found).toEqual(expected);
  });
});

test.each(['60 * * * *', '* * * *', '0 0 31 2 *', 'H * * * *', '@daily', 'a b c d e', '*/0 * * * *', '0 0 1 1 * *'])(
  '%s is an invalid expression',
  (cron) => {
    expect(cronProblem(cron)).not.toBeNull();
  },
);

test.each(['* * * * *', '0 9 * * MON-FRI', '*/5 0-6,20 1 JAN *', '0 0 29 2 *', '0 12 L * *', '0 10 * * THU'])(
  '%s is a valid expression',
  (cron) => {
    expect(cronProblem(cron)).toBeNull();
  },
);

test('a period across midnight ends on the next day, and counts for the weekday on which it begins', () => {
  const night = { from: '22:00', to: '06:30', timezone: 'Europe/Berlin' };
  expect(endOfPeriod(night, new Date('2026-06-01T20:00:00Z'))?.toISOString()).toBe('2026-06-02T04:30:00.000Z');
  expect(endOfPeriod(night, new Date('2026-06-02T04:29:00Z'))?.toISOString()).toBe('2026-06-02T04:30:00.000Z');
  expect(endOfPeriod(night, new Date('2026-06-02T04:30:00Z'))).toBeNull();
  // 2026-06-01 is a Monday.
  expect(endOfPeriod({ ...night, days: [1] }, new Date('2026-06-02T02:00:00Z'))).not.toBeNull();
  expect(endOfPeriod({ ...night, days: [1] }, new Date('2026-06-02T21:00:00Z'))).toBeNull();
});

test('all spellings of a time zone give the same times and share one cached formatter', () => {
  const Original = Intl.DateTimeFormat;
  const cachedZones: string[] = [];
  // Only cached formatters set an hour cycle.
  const spy = vi.spyOn(Intl, 'DateTimeFormat').mockImplementation(function counted(
    locale?: string,
    options?: Intl.DateTimeFormatOptions,
  ) {
    if (options?.hourCycle !== undefined) cachedZones.push(String(options.timeZone));
    return new Original(locale, options);
  } as unknown as typeof Intl.DateTimeFormat);
  try {
    const after = new Date('2026-03-01T00:00:00Z');
    const found = new Set<string | undefined>();
    const letters = [...'america/argentina/ushuaia'];
    for (let spelling = 0; spelling < 300; spelling += 1) {
      const zone = letters
        .map((letter, index) => ((spelling >> (index % 9)) % 2 === 1 ? letter.toUpperCase() : letter))
        .join('');
      found.add(nextCronFire('0 9 * * *', zone, after)?.toISOString());
      found.add(
        endOfPeriod({ from: '22:00', to: '09:00', timezone: zone }, new Date('2026-03-01T05:00:00Z'))?.toISOString(),
      );
    }
    expect([...found]).toEqual(['2026-03-01T12:00:00.000Z']);
    expect(cachedZones).toEqual(['America/Argentina/Ushuaia']);
  } finally {
    spy.mockRestore();
  }
});

test('a schedule in a fixed UTC offset fires by the local time of that offset', () => {
  const after = new Date('2026-03-01T00:10:00Z');
  expect(nextCronFire('0 9 * * *', '+05:30', after)?.toISOString()).toBe('2026-03-01T03:30:00.000Z');
  expect(nextCronFire('0 * * * *', '+05:30', after)?.toISOString()).toBe('2026-03-01T00:30:00.000Z');
});
