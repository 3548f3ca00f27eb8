import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppLog, logText } from './app-log.ts';

test('a log line contains no secrets, line breaks or misleading characters', () => {
  expect(logText(`unseal ${'aB3_'.repeat(11)} failed`)).toBe('unseal [left out] failed');
  expect(logText('outrigger://pair?hub=x&code=ABCD-EFGH')).toBe('outrigger://pair?hub=x&code=[left out]');
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-log-'));
  try {
    new AppLog(folder).write('a fault', 'one\n  two\u202E');
    expect(readFileSync(join(folder, 'app.log'), 'utf8')).toMatch(/^\S+Z {2}a fault: one \| two⟨U\+202E⟩\n$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
