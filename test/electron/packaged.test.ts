import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execLine } from '../../node-agent/main/desktop-entry.ts';
import { askCompanion } from '../../node-agent/runtime/control/client.ts';
import { DataFolder, folderSuffix } from '../../node-agent/runtime/data-folder.ts';
import { killProcesses, processesWith } from '../fixtures/companion.ts';
import { electronArguments, electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { freePort } from '../fixtures/free-port.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

/** Evaluates an expression in the main process of a program that was started with `--inspect`. */
async function evaluateInMain(port: number, expression: string): Promise<unknown> {
  const [main] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(main?.webSocketDebuggerUrl as string);
  const nextEvent = (event: 'open' | 'message') =>
    new Promise<Event>((done, fail) => {
      socket.addEventListener(event, done, { once: true });
      for (const end of ['error', 'close']) socket.addEventListener(end, fail, { once: true });
    });
  const params = { expression, awaitPromise: true, returnByValue: true, includeCommandLineAPI: true };
  await nextEvent('open');
  const answer = nextEvent('message');
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params }));
  const { data } = (await answer) as MessageEvent<string>;
  socket.close();
  return (JSON.parse(data) as { result: { result: { value: unknown } } }).result.result.value;
}

const canRename = electronPath !== null && process.platform === 'linux';

describe.skipIf(!canRename || !hasDesktop)(`the installed app ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let home: string;
  let program: string;
  beforeAll(async () => {
    desktop = await startDesktop();
    home = await mkdtemp(join(tmpdir(), 'outrigger-packaged-'));
    // Electron detects by the name of its program that it is packaged.
    await cp(dirname(electronPath as string), join(home, 'app'), { recursive: true, verbatimSymlinks: false });
    program = join(home, 'app', 'outrigger-companion');
    await rename(join(home, 'app', 'electron'), program);
  });
  afterAll(async () => {
    killProcesses(processesWith(home));
    await desktop?.[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });

  let started = 0;
  /** Starts the app with a new data folder and returns the folder when the companion responds. */
  async function start(name: string, args: string[], env: Record<string, string> = {}): Promise<string> {
    const dataFolder = join(home, `${name}-${(started += 1)}`);
    spawn(program, [...electronArguments(), ...args], {
      env: { ...desktop.env, OUTRIGGER_COMPANION_HOME: dataFolder, ...env },
      stdio: 'ignore',
    });
    await expect
      .poll(() => askCompanion(new DataFolder(dataFolder), 'state', {}).catch(() => null))
      .toMatchObject({ dataFolder });
    return dataFolder;
  }

  test('the app shows its window', async () => {
    const shown = async () => {
      const port = await freePort();
      await start('shown', [`--inspect=127.0.0.1:${port}`]);
      const text = () =>
        Promise.race([
          evaluateInMain(
            port,
            `require('electron').BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript('document.body.innerText')`,
          ),
          delay(5_000, 'It is asked of a page that does not come.'),
        ]);
      await expect.poll(text).toContain('No hub can reach this machine.');
    };
    // Sometimes Chromium blocks a page for ever that loads while an inspector attaches, so the test is repeated.
    await shown().catch(shown).catch(shown);
  });

  test('the app ignores --remote-debugging-port', async () => {
    const port = await freePort();
    await start('driven', [`--remote-debugging-port=${port}`, '--remote-allow-origins=*']);
    await expect(fetch(`http://127.0.0.1:${port}/json/version`)).rejects.toThrow('fetch failed');
  });

  test('an AppImage restarts with the same arguments after a fault', async () => {
    const image = join(home, 'Companion.AppImage');
    const starts = join(home, 'starts');
    // This script does the same as an AppImage, without mounting a file system.
    await writeFile(
      image,
      `#!/bin/sh\nprintf '%s|' "$@" >>'${starts}'\necho >>'${starts}'\nAPPIMAGE='${image}' APPDIR='${home}/app' exec '${program}' "$@"\n`,
      { mode: 0o755 },
    );
    const port = await freePort();
    const dataFolder = join(home, 'faulty');
    const args = [...electronArguments(), `--data-folder=${dataFolder}`, '--hidden'];
    spawn(image, [`--inspect=127.0.0.1:${port}`, ...args, 'outrigger://pair?hub=https://a.example&code=ABCD-EFGH'], {
      env: desktop.env,
      stdio: 'ignore',
    });
    const pid = async () => (await askCompanion(new DataFolder(dataFolder), 'state', {}).catch(() => null))?.pid;
    await expect.poll(pid).toEqual(expect.any(Number));
    const first = await pid();
    // The app can end before it sends its answer.
    await evaluateInMain(port, `setTimeout(() => { throw new Error('planted'); }, 10); 0`).catch(() => undefined);
    await expect.poll(async () => (await readFile(starts, 'utf8')).split('\n').length).toBe(3);
    expect((await readFile(starts, 'utf8')).split('\n')[1]).toBe(
      `${[`--inspect=127.0.0.1:${port}`, ...args, '--wait-ms=1000'].join('|')}|`,
    );
    await expect.poll(async () => ![undefined, first].includes(await pid())).toBe(true);
  });

  test('a started AppImage becomes the handler of pairing links', async () => {
    const data = join(home, 'share');
    const image = join(home, 'My $(apps)', 'Companion 100%.AppImage');
    await start('linked', [], {
      APPIMAGE: image,
      APPDIR: `${home}/app`,
      XDG_DATA_HOME: data,
    });
    const path = join(data, 'applications', 'outrigger-companion-link.desktop');
    await expect.poll(() => readFile(path, 'utf8').catch(() => '')).toContain('MimeType=x-scheme-handler/outrigger;');
    expect(await readFile(path, 'utf8')).toContain(`Exec=${execLine(image)} %u`);
  });

  test('--unpair removes the link handler and the autostart entry', async () => {
    const data = join(home, 'left');
    const dataFolder = join(home, 'leaving');
    const link = join(data, 'applications', 'outrigger-companion-link.desktop');
    const login = join(data, 'autostart', `outrigger-companion${folderSuffix(dataFolder)}.desktop`);
    const another = join(data, 'autostart', 'outrigger-companion.desktop');
    for (const path of [link, login, another]) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, '[Desktop Entry]\n');
    }
    const leaving = spawn(program, [...electronArguments(), '--unpair', `--data-folder=${dataFolder}`], {
      env: {
        ...desktop.env,
        APPIMAGE: join(home, 'Companion.AppImage'),
        APPDIR: join(home, 'app'),
        XDG_DATA_HOME: data,
        XDG_CONFIG_HOME: data,
      },
      stdio: 'ignore',
    });
    await expect.poll(() => leaving.exitCode).toBe(0);
    expect([link, login, another].map((path) => existsSync(path))).toEqual([false, false, true]);
  });
});
