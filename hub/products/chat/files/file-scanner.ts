import { Worker } from 'node:worker_threads';
import { AppError } from '../../../../shared/errors.ts';
import type { FileContent } from './content.ts';
import { refused, unsupported } from './damaged.ts';
import type { Judgement } from './file-scanner-worker.ts';

export interface JudgeOptions {
  /** Files that are looked at side by side. */
  threads?: number;
  /** How long one file may take, in milliseconds. */
  fileMs?: number;
  /** How long a file may wait for a thread, in milliseconds. */
  waitMs?: number;
  /** What the threads run. */
  program?: URL;
}

/** How long a thread may take to start, in milliseconds: on a busy machine it has much to load. */
const startMs = 30_000;
/** A thread without work is ended after so long, in milliseconds. */
const idleMs = 60_000;
/** What a file's parts may take in a thread before it is ended for it. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

const busy = () =>
  new AppError('unavailable', 'Too many files are being looked at; send it again shortly.', { retryAfterSeconds: 5 });

/**
 * Tells by their content what files are, in threads of its own: none that was made to hold a program up holds up the
 * hub.
 */
export class FileScanner implements AsyncDisposable {
  readonly #options: Required<JudgeOptions>;
  readonly #free: Thread[];
  readonly #threads: readonly Thread[];
  readonly #waiting = new Set<(thread: Thread | null) => void>();

  constructor({
    threads = 2,
    fileMs = 5_000,
    waitMs = 30_000,
    program = new URL('file-scanner-worker.ts', import.meta.url),
  }: JudgeOptions = {}) {
    this.#options = { threads, fileMs, waitMs, program };
    this.#threads = Array.from({ length: threads }, () => new Thread(program, fileMs));
    this.#free = [...this.#threads];
  }

  /**
   * Tells what a file is, and answers it as it may be kept: a picture without what else was in it.
   * @throws AppError `unsupported_media_type`, also for one that takes too long, `unavailable`.
   */
  async judge(file: Buffer, signal: AbortSignal): Promise<FileContent> {
    const thread = this.#free.pop() ?? (await this.#next(signal));
    try {
      const judgement = await thread.judge(file);
      if ('refused' in judgement) throw refused(judgement.refused);
      const { bytes, ...kind } = judgement;
      return { ...kind, bytes: bytes === null ? file : Buffer.from(bytes.buffer) };
    } finally {
      const [first] = this.#waiting;
      if (first === undefined) this.#free.push(thread);
      else first(thread);
    }
  }

  /** Ends the threads; whoever still waits is refused. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const take of this.#waiting) take(null);
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  #next(signal: AbortSignal): Promise<Thread> {
    return new Promise((resolve, reject) => {
      const take = (thread: Thread | null) => {
        this.#waiting.delete(take);
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        if (thread === null) reject(busy());
        else resolve(thread);
      };
      const giveUp = () => take(null);
      const timer = setTimeout(giveUp, this.#options.waitMs);
      this.#waiting.add(take);
      signal.addEventListener('abort', giveUp);
      if (signal.aborted) giveUp();
    });
  }
}

/** A place for one thread, which runs while there are files. */
class Thread {
  readonly #program: URL;
  readonly #fileMs: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #isEnded = false;

  constructor(program: URL, fileMs: number) {
    this.#program = program;
    this.#fileMs = fileMs;
  }

  async judge(file: Buffer): Promise<Judgement> {
    if (this.#isEnded) throw busy();
    clearTimeout(this.#idle);
    try {
      const worker = this.#worker ?? (await this.#start());
      const copy = new Uint8Array(file);
      const judgement = answerOf(worker, this.#fileMs);
      worker.postMessage(copy, [copy.buffer]);
      return (await judgement) as Judgement;
    } catch (error) {
      const failed = this.#worker;
      this.#worker = null;
      await failed?.terminate();
      throw this.#isEnded ? busy() : error;
    } finally {
      this.#idle = setTimeout(() => void this.#stop(), idleMs).unref();
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#idle);
    await this.#stop();
  }

  async #start(): Promise<Worker> {
    // Nothing that the hub knows from its environment is of use to it.
    this.#worker = new Worker(this.#program, { env: {}, resourceLimits });
    this.#worker.unref();
    // Whoever waits for an answer hears of it, too.
    this.#worker.on('error', () => undefined);
    await answerOf(this.#worker, startMs, busy);
    return this.#worker;
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

/** What a thread says next. @throws what `failure` makes, when it says nothing in time, or ends. */
async function answerOf(
  worker: Worker,
  withinMs: number,
  failure = () => unsupported('This file takes too long to look at, or too much memory.'),
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const fail = () => reject(failure());
  const timer = setTimeout(fail, withinMs);
  worker.once('message', resolve).once('error', fail).once('exit', fail);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', resolve).off('error', fail).off('exit', fail);
  }
}
