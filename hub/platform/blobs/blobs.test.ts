import { execFile } from 'node:child_process';
import { mkdtemp, open, readdir, readlink, rm, utimes } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFileBlobs } from './blobs.ts';

const key = '00000000-0000-4000-8000-000000000000/00000000-0000-4000-8000-000000000001';

/** Stores 200 kB where a file can have 64 kB at most, and tells what came of it. */
const script = `
  process.on('SIGXFSZ', () => undefined);
  const { createFileBlobs } = await import(${JSON.stringify(new URL('blobs.ts', import.meta.url).href)});
  const blobs = await createFileBlobs(process.argv[1]);
  const outcome = await blobs.put('${key}', Buffer.alloc(200_000, 1), { maxBytes: 1_000_000 }).then(() => 'stored', (error) => error.code);
  console.log(outcome);
`;

test.skipIf(process.platform === 'win32')(
  'stores all of the bytes or nothing where there is room for a part of them',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
    try {
      const { stdout } = await promisify(execFile)('bash', [
        '-c',
        'ulimit -f 64; exec "$0" --input-type=module -e "$1" "$2"',
        process.execPath,
        script,
        folder,
      ]);
      expect(stdout.trim()).toBe('unavailable');
      expect(await readdir(join(folder, '.unfinished'))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

test.runIf(process.platform === 'linux')('bytes are stored once they and their names are on the disk', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const blobs = await createFileBlobs(folder);
  const synced: string[] = [];
  await using any = await open(folder);
  const prototype = Object.getPrototypeOf(any) as FileHandle;
  const { sync } = prototype;
  const spy = vi.spyOn(prototype, 'sync').mockImplementation(async function record(this: FileHandle) {
    synced.push(await readlink(`/proc/self/fd/${this.fd}`));
    await sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  await blobs.put(key, Buffer.from('x'), { maxBytes: 1 });
  expect(synced).toEqual([expect.stringContaining(join(folder, '.unfinished/')), dirname(join(folder, key)), folder]);
});

test('bytes in pieces that nobody wrote to for long are removed, but for those that somebody still owns', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { partials } = await createFileBlobs(folder);
  const [owned, forgotten, young] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ];
  async function* piece() {
    yield Buffer.from('x');
  }
  for (const id of [owned, forgotten, young]) await partials.write(id, 0, piece(), { maxBytes: 10 });
  const long = new Date(Date.now() - 60_000);
  for (const id of [owned, forgotten]) await utimes(join(folder, '.uploads', id), long, long);
  const asked: string[][] = [];
  expect(await partials.sweep(30_000, async (ids) => (asked.push(ids.toSorted()), new Set([owned])))).toBe(1);
  expect(asked).toEqual([[owned, forgotten]]);
  expect(await Promise.all([owned, forgotten, young].map((id) => partials.size(id)))).toEqual([1, 0, 1]);
});
