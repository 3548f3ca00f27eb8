import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, truncateSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../test/fixtures/until.ts';
import { AuditLog } from './audit.ts';
import { DataFolder } from './data-folder.ts';
import { Dispatcher } from './dispatcher.ts';
import { Journal } from './journal.ts';
import { changeSettings } from './owner-changes.ts';
import { ProcessGuard } from './process-guard.ts';

test.each([
  ['another shared folder has its name', 'work/docs', 'docs/large'],
  ['a link of another shared folder leads there', 'work/docs', 'private/link'],
])('a running read ends when its folder is unshared, also when %s', async (_when, unshared, path) => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-dispatcher-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = new DataFolder(join(home, 'data'));
  for (const name of ['work/docs', 'private/docs', 'private']) {
    mkdirSync(join(home, name), { recursive: true });
    writeFileSync(join(home, name, 'large'), '');
    // A sparse file uses no disk space.
    truncateSync(join(home, name, 'large'), 256 * 1024 * 1024);
    await changeSettings(folder, { change: 'share', path: join(home, name) });
  }
  symlinkSync(join(home, 'work/docs/large'), join(home, 'private/link'));
  const journal = new Journal(folder.journal);
  journal.open();
  onTestFinished(() => journal.close());
  await using guard = new ProcessGuard();
  await using dispatcher = new Dispatcher({
    folder,
    journal,
    audit: new AuditLog(folder.audit),
    nodeId: randomUUID(),
    guard,
    browser: undefined,
    host: null,
    prompts: undefined,
    pictures: undefined,
    readArtifact: async () => {
      throw new Error('this test reads no file of the hub');
    },
    onBrowserFull: async () => undefined,
    onChange: () => undefined,
    onOutcome: () => undefined,
  });
  const finished = dispatcher.execute({ id: randomUUID(), type: 'node.files_read', input: { path } });
  await until(
    () => globSync(join(folder.temporary, '*/file.bin')).some((file) => statSync(file).size > 0),
    () => 'nothing is read',
  );
  await changeSettings(folder, { change: 'unshare', path: join(home, unshared) });
  await dispatcher.applySettings(folder.settingsInForce());
  expect((await finished).result).toMatchObject({
    status: 'failed',
    error: {
      code: 'interrupted',
      message: expect.stringContaining(`The owner of this machine no longer shares the folder of ${path}.`) as string,
    },
  });
});

test.skipIf(process.platform === 'win32')('a command without a free file handle has a result', () => {
  const home = mkdtempSync(join(tmpdir(), 'outrigger-dispatcher-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    import { openSync } from 'node:fs';
    import { AuditLog } from ${url('audit.ts')};
    import { DataFolder } from ${url('data-folder.ts')};
    import { Dispatcher } from ${url('dispatcher.ts')};
    import { Journal } from ${url('journal.ts')};
    import { ProcessGuard } from ${url('process-guard.ts')};
    const folder = new DataFolder(${JSON.stringify(home)});
    const journal = new Journal(folder.journal);
    journal.open();
    const ignore = () => undefined;
    const dispatcher = new Dispatcher({
      folder, journal, audit: new AuditLog(folder.audit), nodeId: '${randomUUID()}', guard: new ProcessGuard(),
      host: null, onBrowserFull: ignore, onChange: ignore, onOutcome: ignore,
    });
    try {
      for (;;) openSync('/dev/null');
    } catch {
      // No file handle is free.
    }
    const { result } = await dispatcher.execute({ id: '${randomUUID()}', type: 'node.ping', input: {} });
    console.log(result.status + ' ' + result.error?.code);`;
  const limited = 'ulimit -n 100; exec "$0" --input-type=module --eval "$1"';
  const { stdout, stderr } = spawnSync('sh', ['-c', limited, process.execPath, script], { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: 'failed denied_by_device\n', stderr: '' });
});
