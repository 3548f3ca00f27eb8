import { afterEach, expect, test, vi } from 'vitest';
import { hubNow, noteHubTime } from './now.ts';

afterEach(() => vi.useRealTimers());

test('the clock of the hub is followed as far as its responses prove a difference', () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-27T10:00:00.500Z') });
  const ahead = () => hubNow() - Date.now();
  noteHubTime('Fri, 27 Nov 2026 10:00:00 GMT', Date.now() - 200);
  expect(ahead()).toBe(0);
  noteHubTime('Fri, 27 Nov 2026 10:05:00 GMT', Date.now() - 200);
  expect(ahead()).toBe(299_500);
  noteHubTime('Fri, 27 Nov 2026 09:59:30 GMT', Date.now() - 200);
  expect(ahead()).toBe(-29_300);
  noteHubTime(null, Date.now());
  expect(ahead()).toBe(-29_300);
});
