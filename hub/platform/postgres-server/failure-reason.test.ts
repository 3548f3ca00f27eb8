import { expect, test } from 'vitest';
import { failureReason, initdbFailureReason } from './failure-reason.ts';

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

test.each([
  [
    `${time} [99] LOG:  invalid value for parameter "max_connections": "x"
${time} [99] FATAL:  configuration file "/data/postgresql.conf" contains errors
child process exited with exit code 1
initdb: removing data directory "/data"\n`,
    'FATAL: configuration file "/data/postgresql.conf" contains errors',
  ],
  [
    `initdb: error: could not write to file "/data/PG_VERSION": No space left on device
initdb: removing data directory "/data"\n`,
    'initdb: error: could not write to file "/data/PG_VERSION": No space left on device',
  ],
  ['initdb: removing data directory "/data"\n', 'Command failed: initdb'],
  ['', 'Command failed: initdb'],
])('initdbFailureReason returns the error and not the clean-up that follows: %s', (stderr, reason) => {
  const error = Object.assign(new Error(`Command failed: initdb\n${stderr}`), { stderr });
  expect(initdbFailureReason(error, 60)).toBe(reason);
});

test('initdbFailureReason names the time limit when initdb was stopped', () => {
  const error = Object.assign(new Error('Command failed'), { stderr: 'initdb: removing data directory', killed: true });
  expect(initdbFailureReason(error, 60)).toBe('initdb did not finish within 60 seconds');
});
