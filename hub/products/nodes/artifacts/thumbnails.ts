import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { extname, join, parse } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { ArtifactContent } from './artifacts.ts';
import type { ThumbnailAnswer, ThumbnailRequest } from './thumbnail-process.ts';

export interface ThumbnailsOptions {
  /** Time limit for one picture. */
  pictureMs?: number;
  /** Time after which a request gets its picture as it is. The copy is still made, for later requests. */
  waitMs?: number;
  /** Path of the program that makes the copies. */
  program?: string;
}

const pictureTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);
/** Larger pictures are returned as they are. */
const maxPictureBytes = 32 * 1024 * 1024;
/** Further requests get their pictures as they are. One workspace cannot fill the queue. */
const maxWaiting = 64;
const maxWaitingPerWorkspace = 8;
const cacheBytes = 16 * 1024 * 1024;
/** Loading can be slow on a busy machine. */
const startMs = 30_000;
const idleMs = 60_000;
/** After a failed start, such as on a platform without the library. */
const restMs = 10 * 60_000;

/** Makes small copies of artifacts that are pictures, one at a time, and keeps the latest ones in memory. */
export class Thumbnails implements AsyncDisposable {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #options: Required<ThumbnailsOptions>;
  /** By the SHA-256 of the picture and the width; for some time null for a picture that cannot be decoded. */
  readonly #cache = new LRUCache<string, { copy: Buffer | null }>({
    maxSize: cacheBytes,
    sizeCalculation: ({ copy }) => (copy?.length ?? 0) + 200,
  });
  #waiting = 0;
  readonly #waitingOf = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();
  #child: ChildProcess | null = null;
  #idle: NodeJS.Timeout | undefined;
  #restsUntil = 0;
  #isEnded = false;

  constructor(
    logger: Pick<Logger, 'warn'>,
    {
      pictureMs = 10_000,
      waitMs = 5_000,
      program = join(import.meta.dirname, `thumbnail-process${extname(import.meta.filename)}`),
    }: ThumbnailsOptions = {},
  ) {
    this.#logger = logger;
    this.#options = { pictureMs, waitMs, program };
  }

  /**
   * A WebP copy of a picture with at most this width, in pixels. Returns the artifact itself if it is no picture, is
   * too large or cannot be decoded, if too many pictures wait, or if its copy takes too long.
   */
  async reduce(
    tenantId: string,
    artifact: ArtifactContent,
    width: number,
    signal: AbortSignal,
  ): Promise<ArtifactContent> {
    if (!pictureTypes.has(artifact.contentType) || artifact.bytes > maxPictureBytes) return artifact;
    const key = `${artifact.sha256}/${width}`;
    const known = this.#cache.get(key) ?? (await this.#wait(tenantId, key, artifact, width, signal));
    if (known === null || known.copy === null) return artifact;
    const { copy } = known;
    return {
      name: `${parse(artifact.name).name}-${width}.webp`,
      contentType: 'image/webp',
      bytes: copy.length,
      sha256: `${artifact.sha256}-${width}`,
      open: (range) =>
        Promise.resolve(Readable.from([range === undefined ? copy : copy.subarray(range.start, range.end + 1)])),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#idle);
    this.#stop();
    await this.#last;
  }

  async #wait(
    tenantId: string,
    key: string,
    artifact: ArtifactContent,
    width: number,
    signal: AbortSignal,
  ): Promise<{ copy: Buffer | null } | null> {
    const waitingHere = this.#waitingOf.get(tenantId) ?? 0;
    if (this.#waiting >= maxWaiting || waitingHere >= maxWaitingPerWorkspace || this.#isResting()) return null;
    this.#waiting += 1;
    this.#waitingOf.set(tenantId, waitingHere + 1);
    const made = this.#last
      .then(() => (signal.aborted || this.#isResting() ? null : this.#makeOnce(key, artifact, width)))
      .finally(() => {
        this.#waiting -= 1;
        const left = (this.#waitingOf.get(tenantId) ?? 1) - 1;
        if (left > 0) this.#waitingOf.set(tenantId, left);
        else this.#waitingOf.delete(tenantId);
      });
    this.#last = made.catch(() => undefined);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#options.waitMs)]);
    return Promise.race([made, once(limit, 'abort').then(() => null)]);
  }

  #isResting(): boolean {
    return this.#isEnded || Date.now() < this.#restsUntil;
  }

  async #makeOnce(key: string, artifact: ArtifactContent, width: number): Promise<{ copy: Buffer | null } | null> {
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const content = addAbortSignal(AbortSignal.timeout(this.#options.pictureMs), await artifact.open());
    const picture = await buffer(content);
    const entry = await this.#make({ picture, width });
    if (entry !== null) this.#cache.set(key, entry, entry.copy === null ? { ttl: restMs } : {});
    return entry;
  }

  /** Null if the process could not be asked, which says nothing about the picture. */
  async #make(request: ThumbnailRequest): Promise<{ copy: Buffer | null } | null> {
    clearTimeout(this.#idle);
    const child = this.#child ?? (await this.#start());
    if (child === null) return null;
    const answer = answerOf(child, this.#options.pictureMs);
    const isSent = await new Promise<boolean>((done) => child.send(request, (error) => done(error === null)));
    const made = isSent ? await answer : null;
    // A picture that ends the process or takes too long is not tried again soon.
    if (made === null) this.#stop();
    else this.#idle = setTimeout(() => this.#stop(), idleMs).unref();
    if (!isSent || this.#isEnded) return null;
    const copy = made === null || made === 'ready' ? null : made.copy;
    return { copy: copy === null ? null : Buffer.from(copy) };
  }

  async #start(): Promise<ChildProcess | null> {
    // The process receives no secrets: neither the environment nor files of the hub.
    const child = fork(this.#options.program, {
      cwd: tmpdir(),
      env: {},
      execArgv: ['--max-old-space-size=128'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.unref();
    child.channel?.unref();
    this.#child = child;
    // Prevents an unhandled error. `answerOf` reports the failure.
    child.on('error', () => undefined);
    child.once('exit', () => {
      if (this.#child === child) this.#child = null;
    });
    if ((await answerOf(child, startMs)) === 'ready') return child;
    this.#stop();
    if (this.#isEnded) return null;
    this.#restsUntil = Date.now() + restMs;
    this.#logger.warn(
      { retryInSeconds: restMs / 1000 },
      'small copies of pictures cannot be made on this machine; pictures are sent as they are',
    );
    return null;
  }

  #stop(): void {
    this.#child?.kill('SIGKILL');
    this.#child = null;
  }
}

/** Resolves to the next message of the process, or to null if it ends or sends nothing in time. */
async function answerOf(child: ChildProcess, withinMs: number): Promise<ThumbnailAnswer | null> {
  const { promise, resolve } = Promise.withResolvers<ThumbnailAnswer | null>();
  const answered = (message: unknown) => resolve(message as ThumbnailAnswer);
  const failed = () => resolve(null);
  const timer = setTimeout(failed, withinMs);
  child.once('message', answered).once('error', failed).once('exit', failed);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.off('message', answered).off('error', failed).off('exit', failed);
  }
}
