import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { UpdateFeed } from './feed.ts';
import { request } from './request.ts';
import type { StreamedResponse, RequestDeadlines } from './request.ts';
import { UpdateProblem, diskProblem } from './update-problem.ts';

const attempts = 3;

interface Part {
  handle: FileHandle;
  hash: Hash;
  bytes: number;
}

/**
 * Downloads the file of a release into a folder and resolves to its path. Continues a partial download. The result has
 * the size and SHA-512 of the feed, and is never executable.
 */
export async function download(
  feed: UpdateFeed,
  address: string,
  { folder, deadlines, signal }: { folder: string; deadlines: RequestDeadlines; signal: AbortSignal },
): Promise<string> {
  const path = join(folder, `${feed.sha512.slice(0, 32)}.part`);
  await prepare(folder, path, feed);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await downloadOnce(feed, address, path, { folder, deadlines, signal });
      return path;
    } catch (error) {
      const isFinal = !(error instanceof UpdateProblem) || error.state === 'refused' || !isConnectionProblem(error);
      if (error instanceof UpdateProblem && error.state === 'refused') await rm(path, { force: true });
      if (isFinal || attempt === attempts || signal.aborted) throw error;
    }
  }
}

/** Whether a retry may succeed: the connection broke, and not the disk. */
const isConnectionProblem = (error: UpdateProblem) =>
  (error.cause as NodeJS.ErrnoException | undefined)?.syscall !== 'write';

async function prepare(folder: string, path: string, feed: UpdateFeed): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Partial downloads of other releases are useless.
    for (const name of await readdir(folder))
      if (name.endsWith('.part') && join(folder, name) !== path) await rm(join(folder, name), { force: true });
    const have = (await stat(path).catch(() => null))?.size ?? 0;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < feed.bytes - have) throw Object.assign(new Error('not enough disk space'), { code: 'ENOSPC' });
  } catch (error) {
    throw diskProblem(error, folder);
  }
}

async function downloadOnce(
  feed: UpdateFeed,
  address: string,
  path: string,
  { folder, deadlines, signal }: { folder: string; deadlines: RequestDeadlines; signal: AbortSignal },
): Promise<void> {
  await using handle = await open(path, 'a+', 0o600).catch((error: unknown) => {
    throw diskProblem(error, folder);
  });
  const part: Part = { handle, hash: createHash('sha512'), bytes: 0 };
  for await (const piece of createReadStream(path)) {
    part.hash.update(piece as Buffer);
    part.bytes += (piece as Buffer).length;
  }
  if (part.bytes > feed.bytes) await startOver(part);
  if (part.bytes < feed.bytes)
    await request(
      address,
      { headers: part.bytes === 0 ? {} : { Range: `bytes=${part.bytes}-` }, deadlines, signal },
      (answer) => receive(answer, part, feed, folder),
    );
  if (part.bytes < feed.bytes)
    throw new UpdateProblem('failed', 'The download of the update was interrupted. It will continue later.');
  if (part.hash.digest('hex') !== feed.sha512)
    throw new UpdateProblem(
      'refused',
      `The file of version ${feed.version} is not the announced file (its checksum differs). It was removed.`,
    );
  await handle.sync().catch((error: unknown) => {
    throw diskProblem(error, folder);
  });
}

async function receive(
  { status, headers, body }: StreamedResponse,
  part: Part,
  feed: UpdateFeed,
  folder: string,
): Promise<void> {
  const isRest = status === 206 && headers.get('content-range')?.startsWith(`bytes ${part.bytes}-`) === true;
  if (status !== 200 && !isRest) {
    // The server ignored or refused the range, so the next attempt starts from the beginning.
    if (part.bytes > 0) await startOver(part);
    throw new UpdateProblem(
      'failed',
      `The file of version ${feed.version} could not be downloaded (${status}). It will be retried later.`,
    );
  }
  if (status === 200 && part.bytes > 0) await startOver(part);
  for await (const piece of body) {
    part.bytes += piece.length;
    if (part.bytes > feed.bytes)
      throw new UpdateProblem(
        'refused',
        `The file of version ${feed.version} is larger than announced. It was removed.`,
      );
    await part.handle.appendFile(piece).catch((error: unknown) => {
      throw diskProblem(error, folder);
    });
    part.hash.update(piece);
  }
}

async function startOver(part: Part): Promise<void> {
  await part.handle.truncate(0);
  part.hash = createHash('sha512');
  part.bytes = 0;
}
