import { maxFileBytes, maxFilesPerMessage } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import { GatheredBody, readPieces } from '../../../platform/http/routing/body.ts';
import type { RawExchange } from '../../../platform/http/routing/implement.ts';
import { UploadShares } from './upload-shares.ts';
import type { ShareLimits, UploadOwner } from './upload-shares.ts';

export interface IncomingLimits extends ShareLimits {
  /**
   * How long a file may take to arrive, in milliseconds: whoever sends a byte now and then would hold its room for
   * ever.
   */
  deadlineMs: number;
  /** In each stretch of so many milliseconds, a file must come at the least rate. */
  rateStretchMs: number;
  leastBytesPerSecond: number;
}

const defaults: IncomingLimits = {
  deadlineMs: 5 * 60_000,
  rateStretchMs: 10_000,
  leastBytesPerSecond: 16 * 1024,
  maxHeldBytes: 256 * 1024 * 1024,
  maxWorkspaceHeldBytes: 64 * 1024 * 1024,
  // A page sends the files of a message side by side.
  maxPerSender: maxFilesPerMessage,
  maxPerAddress: 8,
};

/** A file that was read; its room is given back when it is disposed. */
export interface IncomingFile extends Disposable {
  bytes: Buffer;
}

const tooLarge = (maxBytes: number) =>
  new AppError('payload_too_large', `A file may have at most ${maxBytes / 1024 / 1024} MiB.`);
/** Its connection ends with the answer: whatever else comes of the file is nobody's. */
const tooSlow = () =>
  new AppError('request_timeout', 'The file took too long to arrive; send it again.', {
    headers: { Connection: 'close' },
  });

/**
 * Reads files as they are sent, in bounds: of each, of each sender, address and workspace, of all together, and of
 * time.
 */
export class IncomingFiles {
  readonly #limits: IncomingLimits;
  readonly #shares: UploadShares;

  constructor(limits: Partial<IncomingLimits> = {}) {
    this.#limits = { ...defaults, ...limits };
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
      using minder = new FileMinder(this.#limits);
      const gathered = new GatheredBody(limitBytes);
      const read = (async () => {
        for await (const piece of readPieces(request, signal)) {
          if (minder.isLate) return;
          if (gathered.length + piece.length > limitBytes) throw tooLarge(maxBytes);
          share.hold(gathered.heldWith(piece.length));
          gathered.add(piece);
          minder.count(piece.length);
        }
      })();
      await Promise.race([read, minder.late]);
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

/** Minds the time of one file by a clock of its own: whoever only keeps its connection busy sends no byte of it. */
class FileMinder implements Disposable {
  /** Rejects once the file is too late. */
  readonly late: Promise<never>;
  isLate = false;
  #inStretch = 0;
  readonly #stretches: NodeJS.Timeout;
  readonly #deadline: NodeJS.Timeout;

  constructor({ deadlineMs, rateStretchMs, leastBytesPerSecond }: IncomingLimits) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.late = promise;
    const giveUp = () => {
      this.isLate = true;
      this[Symbol.dispose]();
      reject(tooSlow());
    };
    this.#deadline = setTimeout(giveUp, deadlineMs);
    this.#stretches = setInterval(() => {
      if (this.#inStretch < (leastBytesPerSecond * rateStretchMs) / 1000) giveUp();
      this.#inStretch = 0;
    }, rateStretchMs);
  }

  count(bytes: number): void {
    this.#inStretch += bytes;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#deadline);
    clearInterval(this.#stretches);
  }
}
