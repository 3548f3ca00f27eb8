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

test('a link to the outside does not reveal whether its target exists, and what it is', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-links-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const shared = join(home, 'shared');
  mkdirSync(join(home, 'outside/folder'), { recursive: true });
  mkdirSync(shared);
  writeFileSync(join(home, 'outside/file'), 'text');
  const settings = localSettings.parse({ sharedFolders: [shared] });
  for (const target of ['file', 'folder', 'missing']) {
    symlinkSync(join(home, 'outside', target), join(shared, target));
    for (const path of [target, `${target}/x`])
      await expect(resolveShared(join(shared, path), { settings }), path).rejects.toMatchObject({
        code: 'outside_shared_folders',
      });
  }
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

/** Folders `first` and `second`, both shared, and a link of the first one to the file of the second one. */
function twoFolders() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-unshared-')));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [first, second] = [join(home, 'first'), join(home, 'second')];
  for (const folder of [first, second]) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'file'), 'text');
  }
  symlinkSync(join(second, 'file'), join(first, 'link'));
  return { home, first, second };
}

test('an opened path counts as unshared if the owner unshares its folder, but not if the file changes', async () => {
  const { home, first, second } = twoFolders();
  const both = localSettings.parse({ sharedFolders: [first, second] });
  const onlyFirst = localSettings.parse({ sharedFolders: [first] });
  const file = { path: 'file', realPath: join(first, 'file') };
  for (const realPath of [first, file.realPath, second, join(second, 'file')])
    expect(await whyNotShared({ path: 'file', realPath }, both), realPath).toBeNull();
  expect(await whyNotShared(file, onlyFirst)).toBeNull();
  for (const realPath of [second, join(second, 'file')])
    expect(await whyNotShared({ path: 'file', realPath }, onlyFirst), realPath).toMatchObject({
      code: 'denied_by_device',
    });
  // Another program puts a link in the place of the file, then removes the folder.
  rmSync(file.realPath);
  symlinkSync(join(home, 'secret'), file.realPath);
  expect(await whyNotShared(file, onlyFirst)).toBeNull();
  rmSync(first, { recursive: true });
  expect(await whyNotShared(file, onlyFirst)).toBeNull();
});

test('a hidden file that was opened counts as unshared when only a folder around its shared folder stays shared', async () => {
  const { home, first } = twoFolders();
  const file = { path: 'first/.env', realPath: join(first, '.env') };
  const settings = { sharedFolders: [home, first], files: { hidden: [first] } };
  expect(await whyNotShared(file, localSettings.parse(settings))).toBeNull();
  expect(await whyNotShared(file, localSettings.parse({ sharedFolders: [home] }))).toMatchObject({
    code: 'denied_by_device',
  });
});
