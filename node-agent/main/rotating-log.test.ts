import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';
import { RotatingLog } from './rotating-log.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-log-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test.skipIf(process.platform === 'win32')('a pipe in place of the log loses lines, and does not block', () => {
  const log = new RotatingLog(home, 'app');
  // In another process, because a log that opens the pipe would block without end.
  const script = `
    import { RotatingLog } from ${JSON.stringify(new URL('rotating-log.ts', import.meta.url).href)};
    new RotatingLog(${JSON.stringify(home)}, 'app').write('lost');`;
  spawnSync('mkfifo', [log.path]);
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { timeout: 60_000 });
  expect(signal).toBeNull();
  rmSync(log.path);
  log.write('kept');
  log.close();
  expect(readFileSync(log.path, 'utf8')).toMatch(/kept\n$/);
});

test('a log keeps the newest lines in five files of limited size across starts, readable only by the owner', () => {
  for (let start = 0; start < 4; start += 1) {
    const log = new RotatingLog(home, 'app', { bytes: 2_000 });
    for (let line = 0; line < 100; line += 1) log.write(`start ${start} line ${line}`);
    log.close();
  }
  const names = readdirSync(home).toSorted();
  expect(names).toEqual(['app.1.log', 'app.2.log', 'app.3.log', 'app.4.log', 'app.log']);
  for (const name of names) {
    expect(statSync(join(home, name)).size).toBeLessThanOrEqual(2_000);
    expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
  }
  const all = ['app.4.log', 'app.3.log', 'app.2.log', 'app.1.log', 'app.log']
    .flatMap((name) => readFileSync(join(home, name), 'utf8').trim().split('\n'))
    .map((line) =>
      Number(
        /start (\d) line (\d+)/
          .exec(line)
          ?.slice(1, 3)
          .map((part) => part.padStart(3, '0'))
          .join(''),
      ),
    );
  expect(all.at(-1)).toBe(3_099);
  expect(all).toEqual(all.toSorted((one, other) => one - other));
  expect(new Set(all).size).toBe(all.length);
});

test('a line is written even if the process is killed directly afterwards', async () => {
  const code = `const { RotatingLog } = await import(${JSON.stringify(resolve('node-agent/main/rotating-log.ts'))});
    const log = new RotatingLog(${JSON.stringify(home)}, 'app');
    log.write('the last words'); process.kill(process.pid, 'SIGKILL');`;
  await expect(
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env: inheritedEnv() }),
  ).rejects.toMatchObject({ signal: 'SIGKILL' });
  expect(readFileSync(join(home, 'app.log'), 'utf8')).toMatch(/^2\S+Z {2}the last words\n$/);
});

test('a text with line breaks or terminal control characters becomes one line', () => {
  new RotatingLog(home, 'app').write('first\nsecond\u001b[2J');
  const text = readFileSync(join(home, 'app.log'), 'utf8');
  expect(text.split('\n')).toHaveLength(2);
  expect(text).not.toContain('\u001b');
});

test('write errors are ignored, and writing continues when it is possible again', () => {
  const folder = join(home, 'folder');
  writeFileSync(folder, 'a file where the folder should be');
  const log = new RotatingLog(folder, 'app');
  log.write('lost');
  rmSync(folder);
  log.write('kept');
  expect(readFileSync(join(folder, 'app.log'), 'utf8')).toContain('kept');
  chmodSync(folder, 0o700);
});
