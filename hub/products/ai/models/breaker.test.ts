import { expect, test } from 'vitest';
import { closedState, isForgettable, observe } from './breaker.ts';
import type { BreakerState, Observation } from './breaker.ts';

const seen = (outcomes: string, more: Partial<Observation> = {}): Observation => ({
  calls: [...outcomes].map((outcome) => ({ ageMs: 0, isFailed: outcome === 'x' })),
  isUnauthorised: false,
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
])('after %s within a minute it is %s', (outcomes, change) => {
  expect(observe(closedState(), seen(outcomes), t0).change).toBe(change);
});

test('calls count together that are told of one after the other, by whichever process', () => {
  let state = closedState();
  const changes = [...'x.xxx'].map((outcome, index) => {
    const next = observe(state, seen(outcome), t0 + index * 1000);
    ({ state } = next);
    return next.change;
  });
  expect(changes).toEqual([null, null, null, null, 'opened']);
});

test('calls of more than a minute ago count no more', () => {
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
    tells: false,
  });
});

test('it opens for 5 s, and for twice as long after each probe that fails, up to a minute', () => {
  let { state } = observe(closedState(), seen('x', { isUnauthorised: true }), t0);
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

test('a probe that is answered closes it, one that nobody knows the end of lets another try, and late calls change nothing', () => {
  const open: BreakerState = { ...closedState(), openings: 3, openUntil: t0, probeUntil: t0 + 40_000, toldAt: t0 };
  expect(observe(open, seen('.', { probe: 'answered' }), t0)).toMatchObject({ state: closedState(), change: 'closed' });
  expect(observe(open, seen('', { probe: 'released' }), t0).state).toEqual({ ...open, probeUntil: null });
  expect(observe(open, seen('.....xxxxx'), t0)).toEqual({ state: open, change: null, tells: false });
});

test('admins are told once of an opening, and of a model that is refused without one once a day', () => {
  const first = observe(closedState(), seen('x', { isRefused: true }), t0);
  expect([first.change, first.tells]).toEqual([null, true]);
  expect(observe(first.state, seen('x', { isRefused: true }), t0 + 3_600_000).tells).toBe(false);
  expect(observe(first.state, seen('xxxxx', { isRefused: true }), t0 + 60_000)).toMatchObject({
    change: 'opened',
    tells: false,
  });
  expect(observe(first.state, seen('xxxxx', { isRefused: true }), t0 + 3_600_000).tells).toBe(true);
  expect(observe(first.state, seen('x', { isRefused: true }), t0 + 25 * 3_600_000).tells).toBe(true);
  const opened = observe(closedState(), seen('x', { isRefused: true, isUnauthorised: true }), t0);
  expect([opened.change, opened.tells]).toEqual(['opened', true]);
  expect(observe(opened.state, seen('x', { isRefused: true, probe: 'failed' }), t0 + 5_000).tells).toBe(false);
});

test('what is remembered of a model that does well again is nothing', () => {
  const { state } = observe(closedState(), seen('x....'), t0);
  expect(isForgettable(state)).toBe(false);
  expect(isForgettable(observe(state, seen('.'), t0 + 61_000).state)).toBe(true);
});
