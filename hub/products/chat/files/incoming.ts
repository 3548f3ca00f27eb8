import { maxFileBytes, maxFilesPerMessage } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import { BodyBuffer, readChunks } from '../../../platform/http/routing/body.ts';
import type { RawExchange } from '../../../platform/http/routing/implement.ts';
import { UploadShares } from './upload-shares.ts';
import type { ShareLimits, UploadOwner } from './upload-shares.ts';

export interface IncomingLimits extends ShareLimits {
  /**
   * Time limit of one upload. Without it, a slow sender could keep its reserved memory without end.
   */
  deadlineMs: number;
  /** The minimum rate is checked once per interval. */
  rateIntervalMs: number;
  minBytesPerSecond: number;
}

const defaultLimits: IncomingLimits = {
  deadlineMs: 5 * 60_000,
  rateIntervalMs: 10_000,
  minBytesPerSecond: 16 * 1024,
  maxReservedBytes: 256 * 1024 * 1024,
  maxWorkspaceReservedBytes: 64 * 1024 * 1024,
  // A page uploads the files of a message concurrently.
  maxPerSender: maxFilesPerMessage,
  maxPerAddress: 8,
};

/** A received file. Disposing it releases the reserved memory. */
export interface IncomingFile extends Disposable {
  bytes: Buffer;
}

const tooLarge = (maxBytes: number) =>
  new AppError('payload_too_large', `A file may have at most ${maxBytes / 1024 / 1024} MiB.`);
/** The response closes the connection, so that the rest of the file is not read. */
const tooSlow = () =>
  new AppError('request_timeout', 'The file took too long to arrive; send it again.', {
    headers: { Connection: 'close' },
  });

/**
 * Receives files within limits: per file, sender, address and workspace, in total, and in time.
 */
export class IncomingFiles {
  readonly #limits: IncomingLimits;
  readonly #shares: UploadShares;

  constructor(limits: Partial<IncomingLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#shares = new UploadShares(this.#limits);
  }

  /**
   * @throws AppError `payload_too_large`, `unsupported_media_type`, `validation_failed` for an empty one,
   * `rate_limited`, `request_timeout`, `unavailable`.
   */
  async read(
    { request }: Pick<RawExchange, 'request'>,
    owner: UploadOwner,
    signal: AbortSignal,
    maxBytes = maxFileBytes,
  ): Promise<IncomingFile> {
    const { 'content-length': announced, 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding !== 'identity')
      throw new AppError('unsupported_media_type', 'A compressed body is not understood; send it plain.');
    const limitBytes = Number(announced ?? maxBytes);
    if (limitBytes > maxBytes) throw tooLarge(maxBytes);
    const share = this.#shares.begin(owner);
    try {
      using monitor = new TransferMonitor(this.#limits);
      const gathered = new BodyBuffer(limitBytes);
      const read = (async () => {
        for await (const piece of readChunks(request, signal)) {
          if (monitor.isLate) return;
          if (gathered.length + piece.length > limitBytes) throw tooLarge(maxBytes);
          share.reserve(gathered.capacityWith(piece.length));
          gathered.add(piece);
          monitor.count(piece.length);
        }
      })();
      await Promise.race([read, monitor.late]);
      if (gathered.length === 0)
        throw new AppError('validation_failed', 'The body is empty; it must be the file.', {
          details: [{ path: 'body', message: 'must be the file' }],
        });
      return { bytes: gathered.bytes(), [Symbol.dispose]: () => share[Symbol.dispose]() };
    } catch (error) {
      share[Symbol.dispose]();
      throw error;
    }
  }
}

/** Enforces the time limit and the minimum rate of one upload. It counts only bytes of the file. */
class TransferMonitor implements Disposable {
  /** Rejects when a limit is exceeded. */
  readonly late: Promise<never>;
  isLate = false;
  #intervalBytes = 0;
  readonly #rateTimer: NodeJS.Timeout;
  readonly #deadline: NodeJS.Timeout;

  constructor({ deadlineMs, rateIntervalMs, minBytesPerSecond }: IncomingLimits) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.late = promise;
    const giveUp = () => {
      this.isLate = true;
      this[Symbol.dispose]();
      reject(tooSlow());
    };
    this.#deadline = setTimeout(giveUp, deadlineMs);
    this.#rateTimer = setInterval(() => {
      if (this.#intervalBytes < (minBytesPerSecond * rateIntervalMs) / 1000) giveUp();
      this.#intervalBytes = 0;
    }, rateIntervalMs);
  }

  count(bytes: number): void {
    this.#intervalBytes += bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#deadline);
    clearInterval(this.#rateTimer);
  }
}
