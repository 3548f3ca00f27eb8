import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../../../shared/errors.ts';
import type { FileContent } from './content.ts';
import { refused, unsupported } from './damaged.ts';
import type { ScanResult } from './file-scanner-worker.ts';

export interface FileScannerOptions {
  /** Number of threads, each scanning one file at a time. */
  threads?: number;
  /** Time limit of one scan. */
  fileMs?: number;
  /** Time limit for waiting for a thread. */
  waitMs?: number;
  /** The program of the threads. */
  program?: URL;
}

/** Time limit for starting a thread. Loading can be slow on a busy machine. */
const startMs = 30_000;
/** Idle threads are ended after this time. */
const idleMs = 60_000;
/** Memory limits of a thread. A thread that exceeds them ends, and its file is refused. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

const busy = () =>
  new AppError('unavailable', 'Too many files are being scanned. Send the file again shortly.', {
    retryAfterSeconds: 5,
  });

/**
 * Detects the type of files by their content, in worker threads, so that a malicious file cannot block the hub.
 */
export class FileScanner implements AsyncDisposable {
  readonly #options: Required<FileScannerOptions>;
  readonly #free: Thread[];
  readonly #threads: readonly Thread[];
  readonly #waiting = new Set<(thread: Thread | null) => void>();

  constructor({
    threads = 2,
    fileMs = 5_000,
    waitMs = 30_000,
    program = new URL(`file-scanner-worker${extname(import.meta.filename)}`, import.meta.url),
  }: FileScannerOptions = {}) {
    this.#options = { threads, fileMs, waitMs, program };
    this.#threads = Array.from({ length: threads }, () => new Thread(program, fileMs));
    this.#free = [...this.#threads];
  }

  /**
   * Detects the type of a file. Returns the bytes to store: pictures without metadata.
   * @throws AppError `unsupported_media_type`, also if the scan takes too long, `unavailable`.
   */
  async scan(file: Buffer, signal: AbortSignal): Promise<FileContent> {
    const thread = this.#free.pop() ?? (await this.#next(signal));
    try {
      const result = await thread.scan(file);
      if ('refused' in result) throw refused(result.refused);
      const { bytes, ...kind } = result;
      return { ...kind, bytes: bytes === null ? file : Buffer.from(bytes.buffer) };
    } finally {
      const [first] = this.#waiting;
      if (first === undefined) this.#free.push(thread);
      else first(thread);
    }
  }

  /** Ends the threads. Waiting files are refused. */
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

/** One worker thread. It starts with the first file and ends when idle. */
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

  async scan(file: Buffer): Promise<ScanResult> {
    if (this.#isEnded) throw busy();
    clearTimeout(this.#idle);
    try {
      const worker = this.#worker ?? (await this.#start());
      const copy = new Uint8Array(file);
      const result = answerOf(worker, this.#fileMs);
      worker.postMessage(copy, [copy.buffer]);
      return (await result) as ScanResult;
    } catch (error) {
      const failed = this.#worker;
      this.#worker = null;
      await failed?.terminate();
      throw this.#isEnded ? busy() : error;
    } finally {
      this.#idle = setTimeout(() => {
        // A thread that cannot be terminated is not used again.
        this.#stop().catch(() => undefined);
      }, idleMs).unref();
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#idle);
    await this.#stop();
  }

  async #start(): Promise<Worker> {
    // The thread needs no environment variables, so it receives no secrets.
    const worker = new Worker(this.#program, { env: {}, resourceLimits });
    this.#worker = worker;
    worker.unref();
    // Prevents an unhandled error. `answerOf` reports the failure to the caller.
    worker.on('error', () => undefined);
    await answerOf(worker, startMs, busy);
    if (this.#isEnded) throw busy();
    return worker;
  }

  async #stop(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }
}

/**
 * Resolves to the next message of a thread.
 * @throws the error of `failure` if the thread ends or sends nothing in time.
 */
async function answerOf(
  worker: Worker,
  withinMs: number,
  failure = () => unsupported('Scanning this file takes too long or too much memory.'),
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
