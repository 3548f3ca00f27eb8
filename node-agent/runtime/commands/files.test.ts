import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localSettings } from '../settings.ts';
import { resolveShared, whyNotShared } from './files.ts';

test('the data folder of a companion below a shared folder is refused with the reason', async () => {
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

test.each(['pub', 'above/pub'])(
  'a link that replaces the shared folder %s, or a folder above it, shares nothing, and the error says so',
  async (name) => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-moved-')));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const folder = join(home, name);
    for (const each of [folder, join(home, 'secret/pub')]) {
      mkdirSync(each, { recursive: true });
      writeFileSync(join(each, 'file'), 'text');
    }
    const settings = localSettings.parse({ sharedFolders: [folder], files: { hidden: [folder] } });
    const place = join(home, name.split('/')[0] as string);
    const target = join(home, name === 'pub' ? 'secret/pub' : 'secret');
    expect(await resolveShared('pub/file', { settings })).toBe(join(folder, 'file'));
    renameSync(place, `${place}.real`);
    symlinkSync(target, place);
    for (const path of ['pub/file', 'pub', join(folder, 'file'), join(folder, 'missing')])
      await expect(resolveShared(path, { settings }), path).rejects.toMatchObject({
        code: 'outside_shared_folders',
        message: expect.stringContaining('leads to another folder now') as string,
      });
    await expect(resolveShared(join(home, 'secret/pub/file'), { settings })).rejects.toMatchObject({
      code: 'outside_shared_folders',
    });
    rmSync(place);
    renameSync(`${place}.real`, place);
    expect(await resolveShared('pub/file', { settings })).toBe(join(folder, 'file'));
  },
);

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
  'the browser profile %s in a shared home folder is refused unless the owner shares the profile itself',
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

test('files next to browser profiles are shared', async () => {
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

test('a path counts as unshared after its folder is unshared, and not after a link replaces its file', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-unshared-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [first, second] = [join(home, 'first'), join(home, 'second')];
  for (const folder of [first, second]) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'file'), 'text');
  }
  writeFileSync(join(home, 'secret'), 'secret');
  symlinkSync(second, join(first, 'linked'));
  const both = localSettings.parse({ sharedFolders: [first, second] });
  const onlyFirst = localSettings.parse({ sharedFolders: [first] });
  const denied = { code: 'denied_by_device' };
  for (const path of ['first/file', 'first/linked/file', 'second/file', 'first'])
    expect(await whyNotShared({ path }, both), path).toBeNull();
  expect(await whyNotShared({ path: 'first/file' }, onlyFirst)).toBeNull();
  for (const path of ['first/linked/file', 'second/file', join(second, 'file'), 'second'])
    expect(await whyNotShared({ path }, onlyFirst), path).toMatchObject(denied);
  rmSync(join(first, 'file'));
  symlinkSync(join(home, 'secret'), join(first, 'file'));
  expect(await whyNotShared({ path: 'first/file' }, onlyFirst)).toBeNull();
});
