import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { FolderLock, readFolderOwner, waitForFolder } from './data-folder.ts';
import { createStateFile, readStateFile, writeStateFile } from './state-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-state-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a failed write keeps the old file and leaves no temporary file', () => {
  const path = join(folder, 'state.json');
  writeStateFile(path, '{"kept":true}');
  // The shell limits the file size to 0, so that writing the new content fails.
  const script = `import('${resolve('hub/platform/process/state-file.ts')}').then(({ writeStateFile }) => writeStateFile(${JSON.stringify(path)}, 'x'.repeat(100_000)))`;
  expect(() =>
    execFileSync('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, '-e', script], { stdio: 'ignore' }),
  ).toThrow();
  expect(readFileSync(path, 'utf8')).toBe('{"kept":true}');
  expect(readdirSync(folder)).toEqual(['state.json']);
  writeStateFile(path, '{"kept":false}');
  expect(readStateFile(path, z.object({ kept: z.boolean() }))).toEqual({ kept: false });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('createStateFile does not replace an existing file', () => {
  const path = join(folder, 'secret.key');
  createStateFile(path, 'first');
  expect(() => createStateFile(path, 'second')).toThrow(/EEXIST/);
  expect(readFileSync(path, 'utf8')).toBe('first');
  expect(readdirSync(folder)).toEqual(['secret.key']);
});

test('a lock file without a running owner is replaced', () => {
  const dead = [
    '',
    '{',
    'null',
    '7',
    '[]',
    '{"pid":"../../1","started":"x","url":null}',
    '{"pid":1}',
    '\u0000'.repeat(10),
    `{"pid":${process.pid},"started":"long ago","url":null}`,
  ];
  for (const text of dead) {
    writeFileSync(join(folder, 'hub.lock'), text);
    expect(readFolderOwner(folder)).toBeNull();
    using lock = FolderLock.acquire(folder);
    lock.announce('http://127.0.0.1:4400');
    expect(readFolderOwner(folder)).toMatchObject({ pid: process.pid, url: 'http://127.0.0.1:4400' });
    expect(() => FolderLock.acquire(folder)).toThrow(/Another hub/);
  }
});

test('waitForFolder waits for commands and, with `starting`, for a starting hub, but not for a running hub', async () => {
  const lock = FolderLock.acquire(folder);
  expect(
    await Promise.race([
      waitForFolder(folder, { starting: true }).then(() => 'over'),
      waitForFolder(folder, { starting: false }).then(() => 'start continues'),
    ]),
  ).toBe('start continues');
  lock.announce('command');
  const start = waitForFolder(folder, { starting: false });
  expect(await Promise.race([start.then(() => 'over'), new Promise((done) => setTimeout(done, 250, 'waits'))])).toBe(
    'waits',
  );
  lock.announce('http://127.0.0.1:4400');
  await waitForFolder(folder, { starting: true });
  lock[Symbol.dispose]();
  await start;
});
