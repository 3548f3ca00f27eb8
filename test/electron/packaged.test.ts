import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askCompanion } from '../../node-agent/runtime/control/client.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import { processesWith } from '../fixtures/companion.ts';
import { electronArguments, electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { freePort } from '../fixtures/free-port.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

const canRename = electronPath !== null && process.platform === 'linux';

describe.skipIf(!canRename || !hasDesktop)(`the app as its user has it ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let home: string;
  let program: string;
  beforeAll(async () => {
    desktop = await startDesktop();
    home = await mkdtemp(join(tmpdir(), 'outrigger-packaged-'));
    // Electron takes itself for packaged by the name of its program.
    await cp(dirname(electronPath as string), join(home, 'app'), { recursive: true, verbatimSymlinks: false });
    program = join(home, 'app', 'outrigger-companion');
    await rename(join(home, 'app', 'electron'), program);
  });
  afterAll(async () => {
    for (const pid of processesWith(home)) process.kill(pid, 'SIGKILL');
    await desktop?.[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  /** Starts it, and answers once its companion does. */
  async function start(name: string, args: string[], env: Record<string, string> = {}): Promise<string> {
    const dataFolder = join(home, name);
    spawn(program, [...electronArguments(), ...args], {
      env: { ...desktop.env, OUTRIGGER_COMPANION_HOME: dataFolder, ...env },
      stdio: 'ignore',
    });
    await expect
      .poll(() => askCompanion(new DataFolder(dataFolder), 'state', {}).catch(() => null))
      .toMatchObject({ dataFolder });
    return dataFolder;
  }

  test('can not be driven from outside', async () => {
    const port = await freePort();
    await start('driven', [`--remote-debugging-port=${port}`, '--remote-allow-origins=*']);
    await expect(fetch(`http://127.0.0.1:${port}/json/version`)).rejects.toThrow('fetch failed');
  });

  test('makes an AppImage the one that opens pairing links', async () => {
    const data = join(home, 'share');
    await start('linked', [], {
      APPIMAGE: `${home}/My $(apps)/Companion 100%.AppImage`,
      APPDIR: `${home}/app`,
      XDG_DATA_HOME: data,
    });
    const path = join(data, 'applications', 'outrigger-companion-link.desktop');
    await expect.poll(() => readFile(path, 'utf8').catch(() => '')).toContain('MimeType=x-scheme-handler/outrigger;');
    expect(await readFile(path, 'utf8')).toContain(`Exec="${home}/My \\\\$(apps)/Companion 100%%.AppImage" %u`);
  });
});
