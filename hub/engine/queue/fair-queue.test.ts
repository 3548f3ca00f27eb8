import { expect, onTestFinished, test, vi } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const tenantOf = (item: string) => item.slice(0, 1);
const items = (tenant: string, count: number) => Array.from({ length: count }, (_value, index) => `${tenant}${index}`);

function queueOf({ slots = 1, maxInProgress = 100, maxWaiting = 100 } = {}, added: string[] = []): FairQueue<string> {
  const queue = new FairQueue<string>({ slots, maxInProgress, maxWaiting });
  for (const item of added) queue.add(tenantOf(item), item);
  return queue;
}

const acquireItem = (queue: FairQueue<string>) => {
  const turn = queue.acquire();
  return turn !== null && 'item' in turn ? turn.item : null;
};
const finish = (queue: FairQueue<string>, item: string) => {
  queue.freeSlot(tenantOf(item));
  queue.end(tenantOf(item));
};

test('workspaces get slots in turn, independent of the order and number of their items', () => {
  const queue = queueOf({}, [...items('a', 10), ...items('b', 3), ...items('c', 1)]);
  const started: string[] = [];
  for (let item = acquireItem(queue); item !== null; item = acquireItem(queue)) {
    started.push(item);
    expect(queue.acquire()).toBeNull();
    finish(queue, item);
  }
  expect(started.slice(0, 7).map(tenantOf)).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'b']);
  expect(started.filter((item) => tenantOf(item) === 'a')).toEqual(items('a', 10));
  expect(queue.counts).toEqual({ workspaces: 0, working: 0, inProgress: 0, waiting: 0, reserved: 0 });
});

test('an item that waits for an external response frees its slot, and needs a slot again to continue', () => {
  const queue = queueOf({}, ['a0', 'a1', 'b0']);
  expect(acquireItem(queue)).toBe('a0');
  queue.freeSlot('a');
  expect(acquireItem(queue)).toBe('b0');
  const resumed: string[] = [];
  queue.resume('a', () => resumed.push('a0'));
  expect(queue.acquire()).toBeNull();
  finish(queue, 'b0');
  const turn = queue.acquire();
  // Items in progress continue before new items of the workspace begin.
  if (turn !== null && 'resume' in turn) turn.resume();
  expect(resumed).toEqual(['a0']);
  finish(queue, 'a0');
  expect(acquireItem(queue)).toBe('a1');
});

test('a workspace leaves at least as much capacity for items in progress as it uses', () => {
  const queue = queueOf({ slots: 32, maxInProgress: 32 }, [...items('a', 40), ...items('b', 40)]);
  const started: string[] = [];
  for (let item = acquireItem(queue); item !== null; item = acquireItem(queue)) started.push(item);
  // Two workspaces use a third each and leave a third free.
  expect(started.length).toBeGreaterThanOrEqual(20);
  expect(started.length).toBeLessThanOrEqual(22);
  expect(queue.capacityFor('a')).toBe(0);
  expect(queue.capacityFor('c')).toBeGreaterThan(3);
});

test('a workspace uses at most half of the free capacity for waiting items, including reservations', () => {
  const queue = queueOf({ maxWaiting: 12, maxInProgress: 1_000 });
  let reserved = 0;
  for (; queue.capacityFor('a') > 0; reserved += 1) queue.reserve('a');
  expect(reserved).toBe(6);
  expect(queue.capacityFor('b')).toBe(3);
  queue.releaseReservation('a');
  expect(queue.capacityFor('a')).toBe(1);
  queue.add('b', 'b0');
  expect(queue.counts).toEqual({ workspaces: 2, working: 0, inProgress: 0, waiting: 1, reserved: 5 });
});

test('removeWaiting removes all waiting items, or only those that have waited too long', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = queueOf({}, ['a0', 'b0']);
  vi.advanceTimersByTime(20);
  queue.add('a', 'a1');
  expect(queue.removeWaiting(15)).toEqual(['a0', 'b0']);
  expect(queue.removeWaiting()).toEqual(['a1']);
  expect(queue.counts.workspaces).toBe(0);
});
