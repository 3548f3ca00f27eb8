import { expect, test } from 'vitest';
import { isOpen } from './business-hours.ts';

const berlin = {
  timeZone: 'Europe/Berlin',
  periods: [
    { day: 'sunday' as const, from: '00:00', to: '03:00' },
    { day: 'monday' as const, from: '09:00', to: '17:30' },
    { day: 'friday' as const, from: '22:00', to: '24:00' },
  ],
  awayMessage: 'Back on Monday.',
};

test.each([
  ['the first minute', '2026-11-23T08:00:00Z', true],
  ['the minute before', '2026-11-23T07:59:59Z', false],
  ['the last second', '2026-11-23T16:29:59Z', true],
  ['the end', '2026-11-23T16:30:00Z', false],
  ['another day', '2026-11-24T10:00:00Z', false],
  ['the last minute of a day', '2026-11-20T22:59:59Z', true],
  ['the first of the next, which is not named', '2026-11-20T23:00:00Z', false],
  ['an hour that summer time leaves out', '2026-03-29T01:00:00Z', false],
  ['the hour before it', '2026-03-29T00:59:59Z', true],
  ['an hour that is there twice, the second time', '2026-10-25T01:30:00Z', true],
])('isOpen applies the business hours in their time zone: %s', (_name, at, open) => {
  expect(isOpen(berlin, new Date(at))).toBe(open);
});

test('isOpen is always true without business hours, and always false with an empty list of periods', () => {
  expect(isOpen(null, new Date())).toBe(true);
  expect(isOpen({ ...berlin, periods: [] }, new Date())).toBe(false);
});
