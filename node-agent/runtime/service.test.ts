import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { inheritedEnv } from '../../test/fixtures/processes.ts';
import { appImageOf } from './running-app-image.ts';
import { describeUnit } from './service.ts';

const hasAnalyze = (() => {
  try {
    execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-service-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A replacement for systemctl, which may not be installed. It records its arguments. */
function putSystemctl(script: string): void {
  mkdirSync(join(home, 'bin'));
  writeFileSync(join(home, 'bin/systemctl'), `#!/bin/sh\necho "$*" >>'${home}/asked'\n${script}\n`);
  chmodSync(join(home, 'bin/systemctl'), 0o755);
}
const cli = (...args: string[]) =>
  promisify(execFile)(process.execPath, [resolve('node-agent/runtime/cli.ts'), ...args], {
    env: { ...inheritedEnv(), PATH: `${join(home, 'bin')}:${process.env['PATH']}`, HOME: home },
  });
function pair(): void {
  mkdirSync(join(home, '.outrigger-companion'), { recursive: true, mode: 0o700 });
  writeFileSync(
    join(home, '.outrigger-companion/identity.json'),
    JSON.stringify({ nodeId: randomUUID(), deviceSecret: 'x', hub: 'http://127.0.0.1:1', pairedAt: '2026-01-01' }),
  );
}

describe('the service of a companion', () => {
  test.skipIf(!hasAnalyze)('is a valid unit for any folder (needs systemd-analyze)', () => {
    for (const [name, environment] of [
      ['a "node" 100% $HOME', {}],
      ['my node', { DISPLAY: ':0' }],
    ] as const) {
      const program = join(home, name);
      writeFileSync(program, '#!/bin/sh\n');
      chmodSync(program, 0o755);
      const unit = describeUnit(join(home, 'data 50%'), [program, 'launcher.js'], environment);
      expect(unit.name).toMatch(/^outrigger-companion-[0-9a-f]{8}\.service$/);
      const path = join(home, unit.name);
      writeFileSync(path, unit.text);
      // systemd-analyze prints a warning for everything unknown, and nothing for a valid unit.
      const output = execFileSync('systemd-analyze', ['verify', '--user', '--man=no', '--generators=no', path], {
        encoding: 'utf8',
        env: { ...inheritedEnv(), XDG_RUNTIME_DIR: home, HOME: home },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(output).toBe('');
    }
  });

  test('starts the AppImage that contains the program, not one that only started it', () => {
    const image = { APPIMAGE: '/apps/Companion.AppImage', APPDIR: '/tmp/.mount_one/' };
    expect(appImageOf('/tmp/.mount_one/outrigger-companion', image)).toBe('/apps/Companion.AppImage');
    expect(appImageOf('/opt/outrigger/outrigger-companion', image)).toBeNull();
    expect(appImageOf('/tmp/.mount_one_other/outrigger-companion', image)).toBeNull();
    expect(appImageOf('/opt/outrigger/outrigger-companion', {})).toBeNull();
    expect(appImageOf('/opt/outrigger/outrigger-companion', { ...image, APPDIR: '' })).toBeNull();
  });

  test('is installed, described and removed, and the machine stays paired', async () => {
    putSystemctl('case "$2" in is-active) echo active;; is-enabled) echo enabled;; esac');
    pair();
    const { stdout: installed } = await cli('service', 'install');
    expect(installed).toContain('journalctl --user --unit outrigger-companion.service');
    const unit = readFileSync(join(home, '.config/systemd/user/outrigger-companion.service'), 'utf8');
    expect(unit).toContain(`"--data-folder" "${home}/.outrigger-companion" "run"`);
    expect(unit).toContain('WantedBy=default.target');
    const { stdout: status } = await cli('service', 'status');
    expect(status).toMatch(/state {6}active\nat login {3}enabled/);
    await cli('service', 'uninstall');
    expect(readdirSync(join(home, '.config/systemd/user'))).toEqual([]);
    expect(existsSync(join(home, '.outrigger-companion/identity.json'))).toBe(true);
    expect(readFileSync(join(home, 'asked'), 'utf8').split('\n')).toEqual([
      '--user show-environment',
      '--user daemon-reload',
      '--user enable outrigger-companion.service',
      '--user restart outrigger-companion.service',
      '--user is-active outrigger-companion.service',
      '--user is-enabled outrigger-companion.service',
      '--user show-environment',
      '--user disable --now outrigger-companion.service',
      '--user daemon-reload',
      '',
    ]);
  });

  test('is refused with an explanation, and nothing is written, without systemd or a pairing', async () => {
    putSystemctl('echo "Failed to connect to bus: No medium found" >&2; exit 1');
    await expect(cli('service', 'install')).rejects.toMatchObject({ stderr: expect.stringContaining('not paired') });
    pair();
    await expect(cli('service', 'install')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'is not available (Failed to connect to bus: No medium found). Nothing was changed.',
      ),
    });
    expect(existsSync(join(home, '.config'))).toBe(false);
  });
});
