import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extractFile, listPackage } from '@electron/asar';
import { FuseState, FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { askCompanion } from '../../node-agent/runtime/control/client.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import type { CompanionState } from '../../shared/companion/state.ts';
import { electronPath } from '../fixtures/electron-runtime.ts';
import { inheritedEnv } from '../fixtures/processes.ts';
import { until } from '../fixtures/until.ts';

const has = (program: string, flag: string) => {
  try {
    execFileSync(program, [flag], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};
const hasDpkg = has('dpkg-deb', '--version') && process.getuid?.() === 0;
const hasDisplay = has('xvfb-run', '--help');

let home: string;
const output = () => join(home, 'dist');
const unpacked = () => join(output(), 'linux-unpacked');
const { version } = JSON.parse(readFileSync('node-agent/package.json', 'utf8')) as { version: string };
const debOf = () => join(output(), `outrigger-companion_${version}_amd64.deb`);

describe.skipIf(electronPath === null || process.platform !== 'linux' || process.arch !== 'x64')(
  'the packaged app (needs Electron for linux-x64; see test/electron/fetch-runtime.sh)',
  () => {
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'outrigger-package-'));
      await promisify(execFile)(
        process.execPath,
        ['node-agent/package/main.ts', '--dir', '--deb', '--bundle', 'node-agent/dist', '--output', output()].concat([
          '--electron',
          dirname(electronPath as string),
        ]),
        // The proxy addresses make every download fail.
        { env: { ...inheritedEnv(), HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9' } },
      );
    }, 300_000);
    afterAll(() => rmSync(home, { recursive: true, force: true }));

    test('the Electron fuses have the expected states', async () => {
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

    test('the archive contains only the bundle, the icons and package.json', () => {
      const archive = join(unpacked(), 'resources/app.asar');
      const paths = listPackage(archive, { isPack: false });
      expect([...new Set(paths.map((path) => path.split('/')[1]))].toSorted()).toEqual(
        [...readdirSync('node-agent/dist'), 'package.json'].toSorted(),
      );
      // The archive contains no sources, no source maps and no node_modules.
      expect(paths.filter((path) => /\.(ts|tsx|map)$|node_modules/.test(path))).toEqual([]);
      expect(extractFile(archive, 'runtime.js').toString()).not.toContain(resolve('.'));
      expect(existsSync(join(unpacked(), 'resources/app.asar.unpacked'))).toBe(false);
      expect(JSON.parse(extractFile(archive, 'package.json').toString())).toMatchObject({
        name: 'outrigger-companion',
        version,
        main: 'main.js',
      });
    });

    test('ELECTRON_RUN_AS_NODE does not make the app run as Node', async () => {
      const mark = join(home, 'mark');
      const code = `require('fs').writeFileSync(${JSON.stringify(mark)}, '')`;
      // The app ends because it finds no display.
      await promisify(execFile)(join(unpacked(), 'outrigger-companion'), ['-e', code], {
        env: { ELECTRON_RUN_AS_NODE: '1' },
        timeout: 10_000,
      }).catch(() => undefined);
      expect(existsSync(mark)).toBe(false);
    });

    test('the app runs commands of the companion without a screen', async () => {
      const folder = join(home, 'command line');
      // The environment sets no DISPLAY.
      const env = { ...inheritedEnv(), HOME: home };
      const runCommand = (...args: string[]) =>
        new Promise<{ code: unknown; out: string; errors: string[] }>((done) =>
          execFile(
            join(unpacked(), 'outrigger-companion'),
            [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), ...args],
            { env, timeout: 120_000 },
            (error, out, errors) =>
              done({
                code: error === null ? 0 : error.code,
                out,
                // Lines of Chromium, such as an error about a missing bus, begin with a bracket.
                errors: errors.split('\n').filter((line) => line !== '' && !line.startsWith('[')),
              }),
          ),
        );
      const settings = () => JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8')) as { paused: boolean };
      expect(await runCommand('--data-folder', folder, 'pause')).toEqual({
        code: 0,
        out: 'Paused: every command is refused until you resume.\n',
        errors: [],
      });
      expect(settings().paused).toBe(true);
      expect(await runCommand(`--data-folder=${folder}`, 'resume', '--json')).toMatchObject({ code: 0 });
      expect(settings().paused).toBe(false);
      expect(await runCommand('--data-folder', folder, 'prompts')).toMatchObject({ code: 1, out: '' });
      expect(await runCommand('--version')).toEqual({ code: 0, out: `${version}\n`, errors: [] });
      expect((await runCommand('--help')).out).toContain('Usage: outrigger-companion');
      expect(await runCommand('nonsense')).toEqual({ code: 2, out: '', errors: ["error: unknown command 'nonsense'"] });
    });

    test.skipIf(!hasDisplay)(
      'the app starts from its archive, and its companion responds (needs xvfb-run)',
      async () => {
        expect(await start(join(unpacked(), 'outrigger-companion'))).toMatchObject({ version, paired: null });
      },
    );

    describe.skipIf(!hasDpkg)('the Debian package (needs dpkg, as root)', () => {
      test('the package declares its name, version, architecture and dependencies', () => {
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

      test('the package installs all files, the installed app starts, and purging removes everything', async () => {
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
        const program = join(root, 'usr/bin/outrigger-companion');
        const asRoot = (...args: string[]) =>
          promisify(execFile)(program, args, { env: { ...inheritedEnv(), HOME: root, DISPLAY: ':no' } });
        await expect(asRoot()).rejects.toMatchObject({
          code: 2,
          stderr: expect.stringContaining('as root the window has no sandbox') as string,
        });
        expect((await asRoot('status', '--json')).stdout).toContain('"paired": null');
        rmSync(join(root, '.outrigger-companion'), { recursive: true });
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
        if (hasDisplay)
          expect(await start(join(root, 'usr/bin/outrigger-companion'))).toMatchObject({ version, paired: null });
        await dpkg('--purge', 'outrigger-companion');
        expect(existsSync(join(root, 'usr'))).toBe(false);
        expect(existsSync(join(root, 'etc'))).toBe(false);
      });

      test.skipIf(!has('desktop-file-validate', '--help'))(
        'the desktop entry for menus and links is valid (needs desktop-file-validate)',
        () => {
          const problems = execFileSync(
            'desktop-file-validate',
            [resolve('node-agent/package/debian/outrigger-companion.desktop')],
            { encoding: 'utf8' },
          );
          expect(problems).toBe('');
        },
      );
    });
  },
);

/** Starts the app on a new virtual screen and returns the state of its companion. */
async function start(program: string): Promise<CompanionState> {
  const folder = mkdtempSync(join(home, 'run-'));
  const data = new DataFolder(join(folder, 'companion'));
  const child = spawn(
    'xvfb-run',
    ['-a', program, '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(folder, 'data')}`],
    {
      env: { ...inheritedEnv(), HOME: folder, OUTRIGGER_COMPANION_HOME: data.path },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  const end = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All processes have ended.
    }
  };
  onTestFinished(end);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  let state: CompanionState | null = null;
  await until(
    async () => (state = await askCompanion(data, 'state', {}).catch(() => null)) !== null,
    () => `the app does not answer: ${text.slice(-2_000)}`,
  );
  end();
  return state as unknown as CompanionState;
}
