import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppLog, logText } from './app-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a log keeps its newest lines in so many files of so many bytes', () => {
  const log = new AppLog(join(folder, 'logs', 'app.log'), { maxBytes: 1_000, files: 3 });
  for (let number = 0; number < 200; number += 1) log.write('line', String(number));
  const names = readdirSync(join(folder, 'logs')).toSorted();
  expect(names).toEqual(['app.1.log', 'app.2.log', 'app.log']);
  for (const name of names) expect(statSync(join(folder, 'logs', name)).size).toBeLessThanOrEqual(1_000);
  expect(readFileSync(join(folder, 'logs', 'app.log'), 'utf8')).toMatch(/line: 199\n$/);
});

test('a log is readable by its owner alone', () => {
  const log = new AppLog(join(folder, 'app.log'));
  log.write('started');
  expect(statSync(join(folder, 'app.log')).mode & 0o777).toBe(0o600);
});

test('a line has no secret, no second line and nothing that misleads', () => {
  expect(logText(`unseal ${'aB3_'.repeat(11)} failed`)).toBe('unseal [left out] failed');
  expect(logText('outrigger://pair?hub=x&code=ABCD-EFGH')).toBe('outrigger://pair?hub=x&code=[left out]');
  expect(logText('one\n  two\u202E')).toBe('one | two⟨U+202E⟩');
});

test('a log that can not be written costs nothing but its lines', () => {
  expect(() => new AppLog('/proc/nowhere/app.log').write('started')).not.toThrow();
});
