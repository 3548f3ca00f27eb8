import { expect, test } from 'vitest';
import { closedState, isForgettable, observe } from './breaker.ts';
import type { BreakerState, Observation } from './breaker.ts';

const seen = (outcomes: string, more: Partial<Observation> = {}): Observation => ({
  calls: [...outcomes].map((outcome) => ({ ageMs: 0, isFailed: outcome === 'x' })),
  isUnauthorized: false,
  isRefused: false,
  probe: null,
  ...more,
});
const t0 = 1_000_000_000_000;

test.each([
  ['xxxx', null],
  ['xxxxx', 'opened'],
  ['xxx..', 'opened'],
  ['xx...', null],
  ['xxxxx.....', 'opened'],
  ['xxxx.....', null],
])('after the calls %s within a minute the breaker change is %s', (outcomes, change) => {
  expect(observe(closedState(), seen(outcomes), t0).change).toBe(change);
});

test('observations of several processes add up', () => {
  let state = closedState();
  const changes = [...'x.xxx'].map((outcome, index) => {
    const next = observe(state, seen(outcome), t0 + index * 1000);
    ({ state } = next);
    return next.change;
  });
  expect(changes).toEqual([null, null, null, null, 'opened']);
});

test('calls older than a minute do not count', () => {
  const { state } = observe(closedState(), seen('xxxx'), t0);
  expect(observe(state, seen('x'), t0 + 59_000).change).toBe('opened');
  expect(observe(state, seen('x'), t0 + 62_000).change).toBeNull();
  expect(
    observe(
      closedState(),
      { ...seen(''), calls: Array.from({ length: 5 }, () => ({ ageMs: 61_000, isFailed: true })) },
      t0,
    ),
  ).toEqual({
    state: closedState(),
    change: null,
    notifies: false,
  });
});

test('the breaker opens for 5 s and doubles the time after each failed probe, up to a minute', () => {
  let { state } = observe(closedState(), seen('x', { isUnauthorized: true }), t0);
  const openMs = [(state.openUntil ?? 0) - t0];
  for (let probe = 0; probe < 5; probe += 1) {
    const now: number = state.openUntil ?? 0;
    const next: ReturnType<typeof observe> = observe(
      { ...state, probeUntil: now + 1 },
      seen('x', { probe: 'failed' }),
      now,
    );
    expect(next.change).toBe('reopened');
    ({ state } = next);
    expect(state.probeUntil).toBeNull();
    openMs.push((state.openUntil ?? 0) - now);
  }
  expect(openMs).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test('an answered probe closes the breaker, a released probe permits another, and late calls change nothing', () => {
  const open: BreakerState = { ...closedState(), openings: 3, openUntil: t0, probeUntil: t0 + 40_000, notifiedAt: t0 };
  expect(observe(open, seen('.', { probe: 'answered' }), t0)).toMatchObject({ state: closedState(), change: 'closed' });
  expect(observe(open, seen('', { probe: 'released' }), t0).state).toEqual({ ...open, probeUntil: null });
  expect(observe(open, seen('.....xxxxx'), t0)).toEqual({ state: open, change: null, notifies: false });
});

test('admins get one notice per opening, and one a day for a refusing model without an opening', () => {
  const first = observe(closedState(), seen('x', { isRefused: true }), t0);
  expect([first.change, first.notifies]).toEqual([null, true]);
  expect(observe(first.state, seen('x', { isRefused: true }), t0 + 3_600_000).notifies).toBe(false);
  expect(observe(first.state, seen('xxxxx', { isRefused: true }), t0 + 60_000)).toMatchObject({
    change: 'opened',
    notifies: false,
  });
  expect(observe(first.state, seen('xxxxx', { isRefused: true }), t0 + 3_600_000).notifies).toBe(true);
  expect(observe(first.state, seen('x', { isRefused: true }), t0 + 25 * 3_600_000).notifies).toBe(true);
  const opened = observe(closedState(), seen('x', { isRefused: true, isUnauthorized: true }), t0);
  expect([opened.change, opened.notifies]).toEqual(['opened', true]);
  expect(observe(opened.state, seen('x', { isRefused: true, probe: 'failed' }), t0 + 5_000).notifies).toBe(false);
});

test('the state of a recovered model can be deleted', () => {
  const { state } = observe(closedState(), seen('x....'), t0);
  expect(isForgettable(state)).toBe(false);
  expect(isForgettable(observe(state, seen('.'), t0 + 61_000).state)).toBe(true);
});
