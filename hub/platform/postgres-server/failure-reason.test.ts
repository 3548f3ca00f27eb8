import { expect, test } from 'vitest';
import { failureReason } from './failure-reason.ts';

const time = '2026-11-26 20:27:34.512 UTC';

test.each([
  [
    `${time} [78] LOG:  redo starts at 0/174B630
${time} [78] FATAL:  could not write to file "pg_wal/xlogtemp.78": No space left on device
${time} [82] FATAL:  the database system is not yet accepting connections
${time} [71] LOG:  database system is shut down\n`,
    'FATAL: could not write to file "pg_wal/xlogtemp.78": No space left on device',
  ],
  [
    `${time} [78] FATAL:  lock file "postmaster.pid" already exists\n${time} [78] HINT:  Is it running?`,
    /^FATAL: lock file/,
  ],
  [
    'postgres: error while loading shared libraries: libx.so',
    'postgres: error while loading shared libraries: libx.so',
  ],
  ['', 'no reason given'],
])('failureReason returns the last fatal line that is not a refused connection: %s', (log, reason) => {
  expect(failureReason(log)).toEqual(reason instanceof RegExp ? expect.stringMatching(reason) : reason);
});
