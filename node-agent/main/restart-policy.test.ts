import { expect, test } from 'vitest';
import { nextDelay, restartDelays } from './restart-policy.ts';

test('repeated ends double the restart delay, up to one minute', () => {
  const delays: number[] = [];
  let delay: number | null = null;
  for (let round = 0; round < 9; round += 1) {
    delay = nextDelay(delay, 10);
    delays.push(delay);
  }
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test('a process that lived for five minutes is restarted after the first delay', () => {
  expect(nextDelay(60_000, restartDelays.calmMs - 1)).toBe(60_000);
  expect(nextDelay(60_000, restartDelays.calmMs)).toBe(1_000);
});
