import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CompanionError, DataFolder } from './data-folder.ts';

let data: DataFolder;
beforeEach(() => {
  data = new DataFolder(mkdtempSync(join(tmpdir(), 'outrigger-settings-')));
});
afterEach(() => rmSync(data.path, { recursive: true, force: true }));

const leave = (text: string) => writeFileSync(join(data.path, 'settings.lock'), text);
const share = (name: string) => data.changeSettings((settings) => void settings.sharedFolders.push(`/${name}`));
const isLocked = () => readdirSync(data.path).some((name) => name.includes('.lock'));

describe('changing the settings', () => {
  test('keeps the changes of several processes, also after an ended process left its lock', async () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    leave(`${pid} left`);
    const program = `
      import { DataFolder } from ${JSON.stringify(resolve('node-agent/runtime/data-folder.ts'))};
      const data = new DataFolder(${JSON.stringify(data.path)});
      const lasts = new Int32Array(new SharedArrayBuffer(4));
      for (let turn = 0; turn < 3; )
        try {
          await data.changeSettings((settings) => {
            settings.sharedFolders.push('/' + process.pid + '/' + turn);
            Atomics.wait(lasts, 0, 0, 50);
          });
          turn += 1;
        } catch (error) {
          // The other processes can hold the lock for longer than a change waits for it.
          if (!error.message.includes('so nothing was changed; try again')) throw error;
        }`;
    await Promise.all(
      [1, 2, 3, 4].map(() => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])),
    );
    expect(new Set(data.readSettings().sharedFolders).size).toBe(12);
    expect(isLocked()).toBe(false);
  });

  test('succeeds when a process ended before it wrote its ID into the lock', async () => {
    leave('');
    await share('a');
    expect(data.readSettings().sharedFolders).toEqual(['/a']);
    expect(isLocked()).toBe(false);
  });

  test('succeeds when a lock has a time in the future, also if a process has its ID', async () => {
    leave(`${process.ppid} x`);
    const future = new Date('2099-01-01');
    utimesSync(join(data.path, 'settings.lock'), future, future);
    await share('a');
    expect(data.readSettings().sharedFolders).toEqual(['/a']);
    expect(isLocked()).toBe(false);
  });

  test('succeeds while another program holds the lock, if the change only denies more', async () => {
    await share('a');
    leave(`${process.ppid} busy`);
    await data.changeSettings((settings) => void (settings.paused = true));
    expect(data.readSettings()).toMatchObject({ paused: true, sharedFolders: ['/a'] });
  });

  test('fails with an explanation, and changes nothing, when another program does not release the lock', async () => {
    leave(`${process.ppid} busy`);
    let beats = 0;
    const heart = setInterval(() => (beats += 1), 5);
    const refused = await share('a').catch((error: unknown) => error);
    clearInterval(heart);
    expect(refused).toBeInstanceOf(CompanionError);
    expect((refused as Error).message).toContain('so nothing was changed; try again');
    expect(data.readSettings().sharedFolders).toEqual([]);
    // The process can do other work while it waits.
    expect(beats).toBeGreaterThan(1);
  });
});
