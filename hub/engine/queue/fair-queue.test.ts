import { expect, onTestFinished, test, vi } from 'vitest';
import { FairQueue } from './fair-queue.ts';

const tenantOf = (item: string) => item.slice(0, 1);
const items = (tenant: string, count: number) => Array.from({ length: count }, (_value, index) => `${tenant}${index}`);

function queueOf({ slots = 1, maxInProgress = 100, maxWaiting = 100 } = {}, added: string[] = []): FairQueue<string> {
  const queue = new FairQueue<string>({ slots, maxInProgress, maxWaiting });
  for (const item of added) queue.add(tenantOf(item), item);
  return queue;
}

const takenItem = (queue: FairQueue<string>) => {
  const turn = queue.take();
  return turn !== null && 'item' in turn ? turn.item : null;
};
const finish = (queue: FairQueue<string>, item: string) => {
  queue.freeSlot(tenantOf(item));
  queue.end(tenantOf(item));
};

test('workspaces with items get slots in turn, independent of order and number of their items', () => {
  const queue = queueOf({}, [...items('a', 10), ...items('b', 3), ...items('c', 1)]);
  const begun: string[] = [];
  for (let item = takenItem(queue); item !== null; item = takenItem(queue)) {
    begun.push(item);
    expect(queue.take()).toBeNull();
    finish(queue, item);
  }
  expect(begun.slice(0, 7).map(tenantOf)).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'b']);
  expect(begun.filter((item) => tenantOf(item) === 'a')).toEqual(items('a', 10));
  expect(queue.counts).toEqual({ workspaces: 0, working: 0, inProgress: 0, waiting: 0, reserved: 0 });
});

test('an item that waits for a response from outside gives its slot to others, and waits for one to continue', () => {
  const queue = queueOf({}, ['a0', 'a1', 'b0']);
  expect(takenItem(queue)).toBe('a0');
  queue.freeSlot('a');
  expect(takenItem(queue)).toBe('b0');
  const resumed: string[] = [];
  queue.resume('a', () => resumed.push('a0'));
  expect(queue.take()).toBeNull();
  finish(queue, 'b0');
  const turn = queue.take();
  // The workspace continues what it began before it begins more.
  if (turn !== null && 'resume' in turn) turn.resume();
  expect(resumed).toEqual(['a0']);
  finish(queue, 'a0');
  expect(takenItem(queue)).toBe('a1');
});

test('a workspace has at most as many items in progress as there are free ones', () => {
  const queue = queueOf({ slots: 32, maxInProgress: 32 }, [...items('a', 40), ...items('b', 40)]);
  const begun: string[] = [];
  for (let item = takenItem(queue); item !== null; item = takenItem(queue)) begun.push(item);
  // Two workspaces use a third each, and leave a third.
  expect(begun.length).toBeGreaterThanOrEqual(20);
  expect(begun.length).toBeLessThanOrEqual(22);
  expect(queue.roomFor('a')).toBe(0);
  expect(queue.roomFor('c')).toBeGreaterThan(3);
});

test('a workspace can have at most half of the free capacity wait, including reservations', () => {
  const queue = queueOf({ maxWaiting: 12, maxInProgress: 1_000 });
  let reserved = 0;
  for (; queue.roomFor('a') > 0; reserved += 1) queue.reserve('a');
  expect(reserved).toBe(6);
  expect(queue.roomFor('b')).toBe(3);
  queue.releaseReservation('a');
  expect(queue.roomFor('a')).toBe(1);
  queue.add('b', 'b0');
  expect(queue.counts).toEqual({ workspaces: 2, working: 0, inProgress: 0, waiting: 1, reserved: 5 });
});

test('waiting items can be removed, all of them or those that waited long', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const queue = queueOf({}, ['a0', 'b0']);
  vi.advanceTimersByTime(20);
  queue.add('a', 'a1');
  expect(queue.removeWaiting(15)).toEqual(['a0', 'b0']);
  expect(queue.removeWaiting()).toEqual(['a1']);
  expect(queue.counts.workspaces).toBe(0);
});
