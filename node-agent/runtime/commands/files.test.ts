import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
