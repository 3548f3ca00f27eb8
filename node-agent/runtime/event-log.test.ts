import { expect, test } from 'vitest';
import { throttleEvents } from './event-log.ts';
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
