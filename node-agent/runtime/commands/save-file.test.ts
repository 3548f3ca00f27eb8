import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localSettings } from '../settings.ts';
import type { CommandContext } from './handler.ts';
import { saveIntoSharedFolder } from './save-file.ts';

let home: string;
let inbox: string;
let source: string;
let context: CommandContext;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-save-')));
  inbox = join(home, 'inbox');
  source = join(home, 'source');
  mkdirSync(inbox);
  writeFileSync(source, 'content');
  const settings = localSettings.parse({ sharedFolders: [inbox], files: { downloads: [inbox] } });
  const signal = new AbortController().signal;
  context = { settings, signal, noteOpened: () => undefined } as Partial<CommandContext> as CommandContext;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const save = (name: string) => saveIntoSharedFolder(inbox, name, source, context);

test.each([
  ['report.csv', 'report.csv'],
  ['../../etc/report.csv', 'report.csv'],
  ['C:\\Users\\me\\report.csv', 'report.csv'],
  ['.bashrc', 'download-bashrc'],
  ['...', 'download-'],
  ['', 'download-'],
  ['id_rsa', 'download-id_rsa'],
  ['server.pem', 'download-server.pem'],
  ['NUL.txt', 'download-NUL.txt'],
  ['a\u0000b\nc?.txt', 'a_b_c_.txt'],
  [`${'x'.repeat(400)}.pdf`, `${'x'.repeat(146)}.pdf`],
])('the suggested name %j is saved as a plain name in the folder', async (suggested, name) => {
  const path = await save(suggested);
  expect([dirname(path), basename(path)]).toEqual([inbox, name]);
  expect(readFileSync(path, 'utf8')).toBe('content');
});

test('saving a download never replaces an existing file', async () => {
  writeFileSync(join(inbox, 'report.csv'), 'mine');
  expect(basename(await save('report.csv'))).toBe('report (1).csv');
  expect(readFileSync(join(inbox, 'report.csv'), 'utf8')).toBe('mine');
});

test('a copy that is aborted leaves no file', async () => {
  const abort = new AbortController();
  context = { ...context, signal: abort.signal };
  abort.abort(new Error('withdrawn'));
  await expect(save('report.csv')).rejects.toThrow();
  expect(readdirSync(inbox)).toEqual([]);
});

test('a folder that the owner unshared receives no download', async () => {
  context.settings.sharedFolders = [];
  await expect(save('report.csv')).rejects.toMatchObject({ code: 'outside_shared_folders' });
});
