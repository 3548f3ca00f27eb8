import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { execLine } from './desktop-entry.ts';

const hasGio = spawnSync('gio', ['version']).status === 0;

test.skipIf(!hasGio)(
  'a link starts the program with the link, for any characters in its path (needs gio)',
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'outrigger-entry-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const folder = join(home, '100% $(mine) `id` "a"');
    mkdirSync(folder);
    const program = join(folder, 'Companion.AppImage');
    const report = join(home, 'report');
    writeFileSync(program, `#!/bin/sh\nprintf '%s|' "$0" "$@" >'${report}.new'\nmv '${report}.new' '${report}'\n`, {
      mode: 0o755,
    });
    const entry = join(home, 'link.desktop');
    writeFileSync(entry, `[Desktop Entry]\nType=Application\nName=Companion\nExec=${execLine(program)} %u\n`);
    const link = 'outrigger://pair?hub=https://a.example&code=ABCD-EFGH';
    execFileSync('gio', ['launch', entry, link], { stdio: 'ignore' });
    await expect.poll(() => existsSync(report)).toBe(true);
    expect(readFileSync(report, 'utf8')).toBe(`${program}|${link}|`);
  },
);

test('a path that cannot be quoted is refused with a reason', () => {
  expect(() => execLine('/a\nb')).toThrow('has a line break or tab. Rename its folder');
});
