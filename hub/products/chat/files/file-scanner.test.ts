import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileScanner } from './file-scanner.ts';

const never = new AbortController().signal;
const failureOf = (result: Promise<unknown>) =>
  result.then(
    () => 'it was judged',
    (error: unknown) => error,
  );

/** A scanner program for tests: a file with `!` blocks it, a file with `*` uses all its memory. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ([first]) => {
      while (first === 33);
      for (const held = []; first === 42; ) held.push(new Array(100000).fill({}));
      parentPort.postMessage({ contentType: 'text/plain', extensions: ['txt'], bytes: null });
    });
    parentPort.postMessage(null);
  `)}`,
);
const refused = { code: 'unsupported_media_type', message: expect.stringContaining('too long') as string };

test.each(['!', '*'])(
  'a file that blocks its thread (%s) is refused, and delays only files that wait for the thread',
  async (kind) => {
    await using scanner = new FileScanner({ threads: 1, fileMs: kind === '!' ? 3_000 : 30_000, program });
    const hostile = failureOf(scanner.scan(Buffer.from(kind), never));
    const neighbour = scanner.scan(Buffer.from('text'), never);
    expect(await hostile).toMatchObject(refused);
    expect(await neighbour).toMatchObject({ contentType: 'text/plain', bytes: Buffer.from('text') });
  },
);

test('scan fails with `unavailable` if the wait for a thread is too long, the client disconnects or the hub stops', async () => {
  const unavailable = { code: 'unavailable' };
  const scanner = new FileScanner({ threads: 1, fileMs: 60_000, waitMs: 50, program });
  const hostile = failureOf(scanner.scan(Buffer.from('!'), never));
  await expect(scanner.scan(Buffer.from('late'), never)).rejects.toMatchObject(unavailable);
  const gone = new AbortController();
  const left = failureOf(scanner.scan(Buffer.from('left'), gone.signal));
  gone.abort();
  expect(await left).toMatchObject(unavailable);
  const last = failureOf(scanner.scan(Buffer.from('last'), never));
  await scanner[Symbol.asyncDispose]();
  for (const failure of [hostile, last]) expect(await failure).toMatchObject(unavailable);
  await expect(scanner.scan(Buffer.from('after'), never)).rejects.toMatchObject(unavailable);
});

test('scan fails with `unavailable` if the hub stops when its thread has just started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-scanner-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const started = join(folder, 'started');
  const starting = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { writeFileSync } from 'node:fs';
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', () => undefined);
      parentPort.postMessage(null);
      writeFileSync(${JSON.stringify(started)}, '');
    `)}`,
  );
  const scanner = new FileScanner({ threads: 1, program: starting });
  const failure = failureOf(scanner.scan(Buffer.from('text'), never));
  // Blocks this thread, so that it receives the message of the other one only after the disposal has begun.
  while (!existsSync(started));
  await scanner[Symbol.asyncDispose]();
  expect(await failure).toMatchObject({ code: 'unavailable' });
});
