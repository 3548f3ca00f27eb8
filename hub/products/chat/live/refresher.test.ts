import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Refresher } from './refresher.ts';

test('a failed refresh is logged, and later requests refresh again', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
  const refreshed: string[] = [];
  const refresher = new Refresher(async (key) => {
    refreshed.push(key);
    if (refreshed.length <= 2) throw new Error('the database is not available');
  }, logger);
  refresher.request('a');
  refresher.request('a');
  await expect.poll(() => lines.length).toBe(2);
  expect(JSON.parse(lines[0] as string)).toMatchObject({ task: 'refresh of live connections' });
  refresher.request('a');
  expect(refreshed).toEqual(['a', 'a', 'a']);
});
