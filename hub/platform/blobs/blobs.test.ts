import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const key = '00000000-0000-4000-8000-000000000000/00000000-0000-4000-8000-000000000001';

/** Stores 200 kB where a file can have 64 kB at most, and tells what came of it. */
const script = `
  process.on('SIGXFSZ', () => undefined);
  const { createFileBlobs } = await import(${JSON.stringify(new URL('blobs.ts', import.meta.url).href)});
  const blobs = await createFileBlobs(process.argv[1]);
  const outcome = await blobs.put('${key}', Buffer.alloc(200_000, 1), { maxBytes: 1_000_000 }).then(() => 'stored', (error) => error.code);
  console.log(outcome);
`;

test.skipIf(process.platform === 'win32')('stores all of the bytes or nothing where there is room for a part of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
  try {
    const { stdout } = await promisify(execFile)('bash', ['-c', 'ulimit -f 64; exec "$0" --input-type=module -e "$1" "$2"', process.execPath, script, folder]);
    expect(stdout.trim()).toBe('unavailable');
    expect(await readdir(join(folder, '.unfinished'))).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
