import { expect, test } from 'vitest';
import { describeEvent, throttleEvents } from './event-log.ts';
import type { ThrottledEvent } from './event-log.ts';

function listener() {
  const reported: ThrottledEvent[] = [];
  let now = 0;
  return {
    reported,
    event: throttleEvents(
      (event) => reported.push(event),
      () => now,
    ),
    pass: (milliseconds: number) => (now += milliseconds),
  };
}
const lost = (reason: string) => ({ event: 'disconnected', reason, retryInSeconds: 1 }) as const;
const back = { event: 'connected', hub: 'http://hub', by: 'poll' } as const;

test('a lost connection is reported once, then once a minute with a count, and when it is back', () => {
  const { reported, event, pass } = listener();
  event(back);
  for (let second = 0; second < 80 * 60; second += 1, pass(1_000))
    event(lost(second % 2 === 0 ? 'ECONNREFUSED' : 'no answer'));
  event(back);
  expect(reported).toHaveLength(1 + 80 + 1);
  expect(reported[2]).toMatchObject({ event: 'disconnected', times: 60 });
  expect(reported.at(-1)).toEqual(back);
});

test('an unstable connection is reported a limited number of times, and other events always', () => {
  const { reported, event, pass } = listener();
  for (let flap = 0; flap < 600; flap += 1, pass(100)) {
    event(lost('ECONNRESET'));
    event(back);
    event({ event: 'command', type: 'node.ping', outcome: 'succeeded', message: null });
  }
  expect(reported.filter((one) => one.event === 'command')).toHaveLength(600);
  expect(reported.filter((one) => one.event !== 'command')).toHaveLength(20);
});

test('a waiting command is described in one line with its run, its time and the command that answers it', () => {
  const prompt = { promptId: '0193-a', command: 'sh -c "rm\n-rf /"', runId: '0193-r', workflow: 'Nightly\nbackup' };
  const expiresAt = '2026-01-01T00:00:00.000Z';
  const line = describeEvent({ event: 'prompt', ...prompt, expiresAt }, ' --data-folder /srv/c');
  expect(line).toMatch(
    /^WAITS FOR YOU until (2025-12-31|2026-01-01) \S+ \S+: sh -c "rm.*-rf \/" \(run 0193-r of "Nightly.*backup"\)\. .*: outrigger-companion answer 0193-a once --data-folder \/srv\/c$/,
  );
  const long = describeEvent({ event: 'prompt', ...prompt, command: 'x'.repeat(9_000), runId: null, expiresAt });
  expect(long.length).toBeLessThan(500);
});

test.each([
  ['once', 'echo a: you allowed it once'],
  ['not_answered', 'echo a: refused, because you did not answer in time'],
] as const)('a command that waits no longer is described with the reason: %s', (outcome, text) => {
  expect(describeEvent({ event: 'prompt_ended', promptId: 'p', command: 'echo a', outcome })).toBe(text);
});
