import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localSettings } from '../settings.ts';
import { resolveShared } from './files.ts';

test('a data folder under a shared folder is refused with the reason', async () => {
  const shared = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-files-')));
  onTestFinished(() => rmSync(shared, { recursive: true }));
  const data = join(shared, 'companion');
  mkdirSync(join(data, 'journal'), { recursive: true });
  writeFileSync(join(data, 'control.key'), 'key');
  const settings = localSettings.parse({ sharedFolders: [shared] });
  expect(await resolveShared(shared, { settings })).toBe(shared);
  for (const path of [data, join(data, 'control.key')])
    await expect(resolveShared(path, { settings })).rejects.toMatchObject({
      code: 'outside_shared_folders',
      message: expect.stringContaining('is in the data folder of a companion') as string,
    });
});

test.each([
  'snap/chromium/common/chromium/Default/Cookies',
  'snap/some-browser/current/google-chrome/Default/History',
  'Library/Application Support/Google/Chrome/Default/Cookies',
  'Library/Application Support/Google/Chrome Beta/Local State',
  'Library/Application Support/Firefox/Profiles/a.default/places.sqlite',
  'Library/Application Support/Microsoft Edge/Default/History',
  'Library/Cookies/Cookies.binarycookies',
  'Library/Safari/History.db',
  'AppData/Local/Google/Chrome/User Data/Default/History',
  'Backup/Google/Chrome/User Data/Default/History',
  'Backup/Mozilla/Firefox/Profiles/a.default/places.sqlite',
  'Copy of a profile/Login Data',
  'Copy of a profile/key4.db',
])(
  'the browser profile %s of a shared home folder is refused, and is shared where its owner names it',
  async (path) => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-home-')));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'secret');
    writeFileSync(join(home, 'Library.txt'), 'a list of books');
    const settings = localSettings.parse({ sharedFolders: [home] });
    await expect(resolveShared(file, { settings })).rejects.toMatchObject({ code: 'protected_path' });
    expect(await resolveShared(join(home, 'Library.txt'), { settings })).toBe(join(home, 'Library.txt'));
    const named = localSettings.parse({ sharedFolders: [home, file] });
    expect(await resolveShared(file, { settings: named })).toBe(file);
  },
);

test('what lies beside browser profiles is shared', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-home-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const settings = localSettings.parse({ sharedFolders: [home] });
  for (const path of [
    'snap/some-editor/common/notes.txt',
    'Library/Application Support/Some Editor/notes.txt',
    'Documents/Google/Chrome comparison.txt',
    'Documents/Firefox/notes.txt',
  ]) {
    const file = join(home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'text');
    expect(await resolveShared(file, { settings })).toBe(file);
  }
});
