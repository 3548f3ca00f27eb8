import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { background } from './background.ts';

test('a failed background task is logged with its name and is no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  onTestFinished(() => {
    process.off('unhandledRejection', onUnhandled);
  });
  const lines: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
  background(Promise.reject(new Error('no answer')), logger, 'renewal of leases');
  await new Promise(setImmediate);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { task: 'renewal of leases', err: { message: 'no answer' }, msg: 'a background task failed' },
  ]);
  expect(unhandled).toEqual([]);
});
