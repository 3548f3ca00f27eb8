import { execFile } from 'node:child_process';
import { mkdtemp, open, readdir, readlink, rm, utimes } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createFileBlobs } from './blobs.ts';

const key = '00000000-0000-4000-8000-000000000000/00000000-0000-4000-8000-000000000001';

/** Stores 200 kB in a process whose files are limited to 64 kB, and prints the outcome. */
const script = `
  process.on('SIGXFSZ', () => undefined);
  const { createFileBlobs } = await import(${JSON.stringify(new URL('blobs.ts', import.meta.url).href)});
  const blobs = await createFileBlobs(process.argv[1]);
  const outcome = await blobs.put('${key}', Buffer.alloc(200_000, 1), { maxBytes: 1_000_000 }).then(() => 'stored', (error) => error.code);
  console.log(outcome);
`;

test.skipIf(process.platform === 'win32')(
  'storing a blob on a disk that fills up fails as unavailable and leaves no partial file',
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

test.runIf(process.platform === 'linux')(
  'storing a blob syncs the file, its folder and the parent folder',
  async () => {
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
  },
);

test('the sweep removes partial blobs that were not written for long, except those that still have an owner', async () => {
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
  const sweptIds: string[][] = [];
  expect(await partials.sweep(30_000, async (ids) => (sweptIds.push(ids.toSorted()), new Set([owned])))).toBe(1);
  expect(sweptIds).toEqual([[owned, forgotten]]);
  expect(await Promise.all([owned, forgotten, young].map((id) => partials.size(id)))).toEqual([1, 0, 1]);
});
