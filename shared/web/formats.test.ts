import { describe, expect, test } from 'vitest';
import { createNumberFormats, createTimeFormats } from './formats.ts';

/** The spaces that ICU puts between a number and its unit differ from version to version. */
const plain = (text: string) => text.replaceAll(/[\u{A0}\u{202F}]/gu, ' ');

describe('numbers', () => {
  const { bytes, clock, number } = createNumberFormats('en-GB');

  test('a size is shown in bytes, kB, MB or GB', () => {
    expect(
      [0, 5, 1_023, 1_024, 2_048, 1_572_864, 5 * 1024 * 1024, 24 * 1024 ** 3].map((size) => plain(bytes(size))),
    ).toEqual(['0 bytes', '5 bytes', '1,023 bytes', '1 kB', '2 kB', '1.5 MB', '5 MB', '24 GB']);
  });

  test('a duration shows hours only from one hour on, in the digits of its locale', () => {
    expect([0, 9.9, 62, 3_605, 36_000].map(clock)).toEqual(['0:00', '0:09', '1:02', '1:00:05', '10:00:00']);
    expect(createNumberFormats('ar-EG').clock(3_605)).toBe('١:٠٠:٠٥');
  });

  test('numbers are grouped by the rules of the locale', () => {
    expect([number(1_234.5), createNumberFormats('de').number(1_234.5)]).toEqual(['1,234.5', '1.234,5']);
  });
});

describe('times', () => {
  const { time, day, dateTime, shortDateTime, relative } = createTimeFormats('en-GB');
  const words = { today: 'Today', yesterday: 'Yesterday' };
  const now = new Date(2026, 0, 1, 0, 30);

  test('today and yesterday are shown by name, also across the end of a year', () => {
    expect(day(new Date(2026, 0, 1, 23, 59), now, words)).toBe('Today');
    expect(day(new Date(2025, 11, 31, 0, 1), now, words)).toBe('Yesterday');
    expect(day(new Date(2025, 11, 30), now, words)).toBe('30 December 2025');
    expect(plain(day(new Date(2026, 4, 4), now, words))).toMatch(/^Monday,? 4 May$/);
  });

  test('a time shows its date unless it is today', () => {
    expect(time(now)).toBe('00:30');
    expect(shortDateTime(now, now)).toBe('00:30');
    expect(shortDateTime(new Date(2025, 11, 31, 9, 5), now)).toBe('31 Dec 2025, 09:05');
    expect(dateTime(now)).toBe('1 Jan 2026, 00:30');
  });

  test('a relative time uses the largest fitting unit and is rounded up', () => {
    expect([1_000, 60_000, 61_000, 3_600_000, 5_400_000, 86_400_000].map(relative)).toEqual([
      'in 1 minute',
      'in 1 minute',
      'in 2 minutes',
      'in 1 hour',
      'in 2 hours',
      'tomorrow',
    ]);
    expect([-1_000, -61_000, -7_300_000, -86_400_000].map(relative)).toEqual([
      'this minute',
      '1 minute ago',
      '2 hours ago',
      'yesterday',
    ]);
  });
});
