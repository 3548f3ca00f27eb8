import { expect, test } from 'vitest';
import { describeClock } from './hub-check.ts';

test.each([
  [3 * 3_600_000, "is 10800 s behind the hub's clock"],
  [-90_000, "is 90 s ahead of the hub's clock"],
])('the check of the hub says in which direction the clock of this machine is wrong: %i ms', (hubAheadMs, text) => {
  expect(describeClock(hubAheadMs)).toMatchObject({
    isClockWrong: true,
    clock: expect.stringContaining(text) as string,
  });
});
