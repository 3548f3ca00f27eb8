import { execFileSync } from 'node:child_process';
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
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { desktopAutostart, loginItemAutostart } from './autostart.ts';
import type { LoginItems } from './autostart.ts';

const usual = { dataFolder: '/home/ada/.outrigger-companion', suffix: '' };
const second = { dataFolder: '/home/ada/second 100% hub', suffix: '-01234567' };

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-autostart-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const hasGio = (() => {
  try {
    execFileSync('gio', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe('start at login on a Linux desktop', () => {
  test('is an entry in the autostart folder of the user, which is removed when it is switched off', () => {
    const autostart = desktopAutostart('/opt/Outrigger Companion/outrigger-companion', usual, {
      configHome: undefined,
      home,
    });
    expect(autostart.isOn()).toBe(false);
    autostart.set(false);
    autostart.set(true);
    autostart.set(true);
    expect(autostart.isOn()).toBe(true);
    expect(readdirSync(join(home, '.config/autostart'))).toEqual(['outrigger-companion.desktop']);
    autostart.set(false);
    expect(autostart.isOn()).toBe(false);
    expect(readdirSync(join(home, '.config/autostart'))).toEqual([]);
  });

  test('has a separate entry for each data folder', () => {
    const [one, other] = [usual, second].map((target) =>
      desktopAutostart('/x', target, { configHome: undefined, home }),
    );
    one?.set(true);
    expect(other?.isOn()).toBe(false);
    other?.set(true);
    one?.set(false);
    expect(other?.isOn()).toBe(true);
    expect(readFileSync(join(home, '.config/autostart/outrigger-companion-01234567.desktop'), 'utf8')).toContain(
      'Exec="/x" "--data-folder=/home/ada/second 100%% hub" "--hidden"\n',
    );
  });

  test('uses XDG_CONFIG_HOME if it is an absolute path', () => {
    desktopAutostart('/x', usual, { configHome: join(home, 'settings'), home }).set(true);
    expect(existsSync(join(home, 'settings/autostart/outrigger-companion.desktop'))).toBe(true);
    desktopAutostart('/x', usual, { configHome: 'settings', home }).set(true);
    expect(existsSync(join(home, '.config/autostart/outrigger-companion.desktop'))).toBe(true);
  });

  test.each([['Hidden=true'], ['X-GNOME-Autostart-enabled=false']])('is off when the desktop wrote %s', (line) => {
    const autostart = desktopAutostart('/x', usual, { configHome: undefined, home });
    autostart.set(true);
    const path = join(home, '.config/autostart/outrigger-companion.desktop');
    writeFileSync(path, readFileSync(path, 'utf8').replace('X-GNOME-Autostart-enabled=true', line));
    expect(autostart.isOn()).toBe(false);
  });

  test('reports the problem when the folder cannot be created', () => {
    writeFileSync(join(home, 'file'), '');
    const autostart = desktopAutostart('/x', usual, { configHome: join(home, 'file'), home });
    expect(() => autostart.set(true)).toThrow(/can't be written \((EEXIST|ENOTDIR)\)/);
  });

  test.skipIf(!hasGio)('starts the program for any characters in its path (needs gio)', async () => {
    const folder = join(home, 'My "apps" $HOME `id` 100%u \\ and \'more\'');
    mkdirSync(folder);
    const program = join(folder, 'companion %f.AppImage');
    const report = join(home, 'report');
    writeFileSync(program, `#!/bin/sh\nprintf '%s|' "$0" "$@" >'${report}.new'\nmv '${report}.new' '${report}'\n`);
    chmodSync(program, 0o755);
    desktopAutostart(program, usual, { configHome: undefined, home }).set(true);
    execFileSync('gio', ['launch', join(home, '.config/autostart/outrigger-companion.desktop')], { stdio: 'ignore' });
    await expect.poll(() => existsSync(report)).toBe(true);
    expect(readFileSync(report, 'utf8')).toBe(`${program}|--hidden|`);
  });
});

test('start at login on macOS and Windows uses the login items of the system, without a window', () => {
  const calls: unknown[] = [];
  let openAtLogin = false;
  const items: LoginItems = {
    getLoginItemSettings: (options) => {
      calls.push(options);
      return { openAtLogin };
    },
    setLoginItemSettings: (settings) => {
      ({ openAtLogin } = settings);
      calls.push(settings);
    },
  };
  const autostart = loginItemAutostart(items, usual);
  expect(autostart.isOn()).toBe(false);
  autostart.set(true);
  expect(autostart.isOn()).toBe(true);
  expect(calls).toEqual([{ args: ['--hidden'] }, { openAtLogin: true, args: ['--hidden'] }, { args: ['--hidden'] }]);
  loginItemAutostart(items, second).set(true);
  expect(calls.at(-1)).toEqual({
    openAtLogin: true,
    args: ['--data-folder=/home/ada/second 100% hub', '--hidden'],
    name: 'outrigger-companion-01234567',
  });
});
