import { expect, test } from 'vitest';
import { FileScanner } from './file-scanner.ts';

const never = new AbortController().signal;
const failureOf = (judgement: Promise<unknown>) =>
  judgement.then(
    () => 'it was judged',
    (error: unknown) => error,
  );

/** Stands for a program that a file was made against: an `!` holds it for ever, an `*` takes all its memory. */
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
  'a file that would hold its thread (%s) is refused, and holds nobody but those who wait for the thread',
  async (kind) => {
    await using judge = new FileScanner({ threads: 1, fileMs: kind === '!' ? 200 : 30_000, program });
    const hostile = failureOf(judge.judge(Buffer.from(kind), never));
    const neighbour = judge.judge(Buffer.from('text'), never);
    expect(await hostile).toMatchObject(refused);
    expect(await neighbour).toMatchObject({ contentType: 'text/plain', bytes: Buffer.from('text') });
  },
);

test('who waits for a thread too long, goes away or meets the end of the hub is told to come again', async () => {
  const unavailable = { code: 'unavailable' };
  const judge = new FileScanner({ threads: 1, fileMs: 60_000, waitMs: 50, program });
  const hostile = failureOf(judge.judge(Buffer.from('!'), never));
  await expect(judge.judge(Buffer.from('late'), never)).rejects.toMatchObject(unavailable);
  const gone = new AbortController();
  const left = failureOf(judge.judge(Buffer.from('left'), gone.signal));
  gone.abort();
  expect(await left).toMatchObject(unavailable);
  const last = failureOf(judge.judge(Buffer.from('last'), never));
  await judge[Symbol.asyncDispose]();
  for (const failure of [hostile, last]) expect(await failure).toMatchObject(unavailable);
  await expect(judge.judge(Buffer.from('after'), never)).rejects.toMatchObject(unavailable);
});
