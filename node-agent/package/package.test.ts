import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extractFile, listPackage } from '@electron/asar';
import { FuseState, FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';

const electron = [
  process.env['ELECTRON_OVERRIDE_DIST_PATH'],
  resolve('test/electron/runtime'),
  resolve('node_modules/electron/dist'),
].find((folder) => folder !== undefined && existsSync(join(folder, 'version')));
const has = (program: string, flag: string) => {
  try {
    execFileSync(program, [flag], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const hasDpkg = has('dpkg-deb', '--version') && process.getuid?.() === 0;
const hasScreen = has('xvfb-run', '--help');

/** An app of a few lines in the place of the bundle, which has tests of its own: these are about what is laid around it. */
const main = `import { app, BrowserWindow } from 'electron';
app.whenReady().then(() => {
  const window = new BrowserWindow({ width: 300, height: 200 });
  window.webContents.on('did-finish-load', async () => {
    const title = await window.webContents.executeJavaScript('document.title');
    console.log('READY ' + JSON.stringify({ title, version: app.getVersion(), path: app.getAppPath(), name: app.getName() }));
  });
  window.loadURL('data:text/html,<title>it runs</title>');
});
`;

let home: string;
const output = () => join(home, 'dist');
const unpacked = () => join(output(), 'linux-unpacked');
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const debOf = () => join(output(), `outrigger-companion_${version}_amd64.deb`);

describe.skipIf(electron === undefined || process.platform !== 'linux' || process.arch !== 'x64')(
  'the packaged app (needs an Electron in ELECTRON_OVERRIDE_DIST_PATH, for linux-x64)',
  () => {
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'outrigger-package-'));
      const bundle = join(home, 'bundle');
      mkdirSync(join(bundle, 'renderer'), { recursive: true });
      for (const [name, text] of Object.entries({
        'main.js': main,
        'main.js.map': '{}',
        'runtime.js': '',
        'preload.cjs': '',
        'renderer/index.html': '<title>x</title>',
        'renderer/index.js.map': '{}',
      }))
        writeFileSync(join(bundle, name), text);
      await promisify(execFile)(
        process.execPath,
        ['node-agent/package/main.ts', '--dir', '--deb', '--bundle', bundle, '--output', output()].concat([
          '--electron',
          electron as string,
        ]),
        // Nothing may be got from the network.
        { env: { ...inheritedEnv(), HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' } },
      );
    }, 300_000);
    afterAll(() => rmSync(home, { recursive: true, force: true }));

    test('has every fuse as it is to be', async () => {
      const fuses = await getCurrentFuseWire(join(unpacked(), 'outrigger-companion'));
      const isOn = (fuse: FuseV1Options) => fuses[fuse] === FuseState.ENABLE;
      expect(isOn(FuseV1Options.EnableCookieEncryption)).toBe(true);
      expect(isOn(FuseV1Options.EnableEmbeddedAsarIntegrityValidation)).toBe(true);
      expect(isOn(FuseV1Options.OnlyLoadAppFromAsar)).toBe(true);
      expect(isOn(FuseV1Options.RunAsNode)).toBe(false);
      expect(isOn(FuseV1Options.EnableNodeOptionsEnvironmentVariable)).toBe(false);
      expect(isOn(FuseV1Options.EnableNodeCliInspectArguments)).toBe(false);
      expect(isOn(FuseV1Options.LoadBrowserProcessSpecificV8Snapshot)).toBe(false);
      expect(isOn(FuseV1Options.GrantFileProtocolExtraPrivileges)).toBe(false);
    });

    test('holds the bundle, the icons that it shows and its package.json, and nothing else', () => {
      const archive = join(unpacked(), 'resources/app.asar');
      const paths = listPackage(archive, { isPack: false });
      expect(paths.filter((path) => !path.startsWith('/icons')).toSorted()).toEqual(
        ['/main.js', '/package.json', '/preload.cjs', '/renderer', '/renderer/index.html', '/runtime.js'].toSorted(),
      );
      expect(paths.filter((path) => path.startsWith('/icons') && !/\/tray|\.png$/.test(path))).toEqual(['/icons']);
      expect(existsSync(join(unpacked(), 'resources/app.asar.unpacked'))).toBe(false);
      expect(JSON.parse(extractFile(archive, 'package.json').toString())).toMatchObject({
        name: 'outrigger-companion',
        version,
        main: 'main.js',
      });
    });

    test('is no Node for whoever starts it', async () => {
      const mark = join(home, 'mark');
      const code = `require('fs').writeFileSync(${JSON.stringify(mark)}, '')`;
      // As an app it finds no display and ends, which is all that is wanted of it.
      await promisify(execFile)(join(unpacked(), 'outrigger-companion'), ['-e', code], {
        env: { ELECTRON_RUN_AS_NODE: '1' },
        timeout: 10_000,
      }).catch(() => undefined);
      expect(existsSync(mark)).toBe(false);
    });

    test.skipIf(!hasScreen)('starts, from its archive (needs xvfb-run)', async () => {
      expect(await start(join(unpacked(), 'outrigger-companion'))).toEqual({
        title: 'it runs',
        version,
        name: 'Outrigger Companion',
        path: join(unpacked(), 'resources/app.asar'),
      });
    });

    describe.skipIf(!hasDpkg)('as a Debian package (needs dpkg, as root)', () => {
      test('says what it is and what it needs', () => {
        const field = (name: string) =>
          execFileSync('dpkg-deb', ['--field', debOf(), name], { encoding: 'utf8' }).trim();
        expect(field('Package')).toBe('outrigger-companion');
        expect(field('Version')).toBe(version);
        expect(field('Architecture')).toBe('amd64');
        expect(field('Depends')).toMatch(/libgtk-3-0 \| libgtk-3-0t64.*libnss3/);
        const listed = execFileSync('dpkg-deb', ['--contents', debOf()], { encoding: 'utf8' }).trim().split('\n');
        expect(listed.filter((line) => !line.includes(' root/root '))).toEqual([]);
        expect(listed.filter((line) => !/ \.\/(usr\/(bin|lib|share)\/?.*)?$|\/usr\/$/.test(line))).toEqual([]);
      });

      test('is installed whole, starts from there, and goes without a trace', async () => {
        const root = join(home, 'root');
        for (const folder of ['info', 'updates', 'triggers'])
          mkdirSync(join(root, 'var/lib/dpkg', folder), { recursive: true });
        for (const file of ['status', 'available']) writeFileSync(join(root, 'var/lib/dpkg', file), '');
        const dpkg = (...args: string[]) =>
          promisify(execFile)('dpkg', [
            `--root=${root}`,
            '--force-depends',
            '--force-script-chrootless',
            '--log=/dev/null',
            ...args,
          ]);
        await dpkg('--install', debOf());
        const app = join(root, 'usr/lib/outrigger-companion');
        expect(readlinkSync(join(root, 'usr/bin/outrigger-companion'))).toBe(
          '../lib/outrigger-companion/outrigger-companion',
        );
        expect(readFileSync(join(app, 'resources/package-type'), 'utf8').trim()).toBe('deb');
        expect([0o755, 0o4755]).toContain(statSync(join(app, 'chrome-sandbox')).mode & 0o7777);
        const sums = readFileSync(join(root, 'var/lib/dpkg/info/outrigger-companion.md5sums'), 'utf8')
          .trim()
          .split('\n');
        expect(sums.length).toBeGreaterThan(30);
        for (const line of sums) {
          const [sum, path = ''] = line.split('  ');
          expect(
            createHash('md5')
              .update(readFileSync(join(root, path)))
              .digest('hex'),
            path,
          ).toBe(sum);
        }
        if (hasScreen)
          expect(await start(join(root, 'usr/bin/outrigger-companion'))).toMatchObject({ title: 'it runs', version });
        await dpkg('--purge', 'outrigger-companion');
        expect(existsSync(join(root, 'usr'))).toBe(false);
        expect(existsSync(join(root, 'etc'))).toBe(false);
      });

      test.skipIf(!has('desktop-file-validate', '--help'))(
        'has an entry for menus and links that desktops take (needs desktop-file-validate)',
        () => {
          const said = execFileSync(
            'desktop-file-validate',
            [resolve('node-agent/package/debian/outrigger-companion.desktop')],
            { encoding: 'utf8' },
          );
          expect(said).toBe('');
        },
      );
    });
  },
);

/** Starts the app on a virtual screen of its own, and answers what it said of itself. */
function start(program: string): Promise<unknown> {
  const folder = mkdtempSync(join(home, 'run-'));
  const child = spawn(
    'xvfb-run',
    ['-a', program, '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'data')}`],
    { env: { ...inheritedEnv(), HOME: folder }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const end = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  };
  onTestFinished(end);
  return new Promise((done, fail) => {
    let text = '';
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      const said = /READY (\{.*\})/.exec(text)?.[1];
      if (said === undefined) return;
      end();
      done(JSON.parse(said));
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', () => fail(new Error(`the app ended: ${text.slice(-2_000)}`)));
  });
}
