import { maxFileBytes } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readPieces } from '../../../platform/http/body.ts';
import type { RawExchange } from '../../../platform/http/implement.ts';

/** How long a file may take to arrive, in milliseconds: whoever sends a byte now and then would hold its room for ever. */
const defaultDeadlineMs = 5 * 60_000;
/** Bytes of files that are in the memory of this process at once, at most. */
const defaultMaxHeldBytes = 256 * 1024 * 1024;

export interface IncomingLimits {
  deadlineMs?: number;
  maxHeldBytes?: number;
}

/** A file that was read; its room is given back when it is disposed. */
export interface IncomingFile extends Disposable {
  bytes: Buffer;
}

const tooLarge = () => new AppError('payload_too_large', `A file may have at most ${maxFileBytes / 1024 / 1024} MiB.`);

/** Reads files as they are sent, in bounds: of each, of all together, and of time. */
export class IncomingFiles {
  readonly #limits: Required<IncomingLimits>;
  #held = 0;

  constructor({ deadlineMs = defaultDeadlineMs, maxHeldBytes = defaultMaxHeldBytes }: IncomingLimits = {}) {
    this.#limits = { deadlineMs, maxHeldBytes };
  }

  /** @throws AppError `payload_too_large`, `unsupported_media_type`, `validation_failed` for an empty one, `rate_limited`, `request_timeout`, `unavailable`. */
  async read({ request }: Pick<RawExchange, 'request'>, signal: AbortSignal): Promise<IncomingFile> {
    const { 'content-length': announced, 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding !== 'identity')
      throw new AppError('unsupported_media_type', 'A compressed body is not understood; send it plain.');
    if (Number(announced ?? 0) > maxFileBytes) throw tooLarge();
    const pieces: Buffer[] = [];
    let length = 0;
    const endsAt = performance.now() + this.#limits.deadlineMs;
    const giveBack = () => {
      this.#held -= length;
      length = 0;
    };
    try {
      for await (const piece of readPieces(request, signal)) {
        length += piece.length;
        this.#held += piece.length;
        if (length > maxFileBytes) throw tooLarge();
        if (this.#held > this.#limits.maxHeldBytes)
          throw new AppError('rate_limited', 'Too many files are being sent at once; try again shortly.', {
            retryAfterSeconds: 5,
          });
        if (performance.now() > endsAt)
          throw new AppError('request_timeout', 'The file took too long to arrive; send it again.');
        pieces.push(piece);
      }
      if (length === 0)
        throw new AppError('validation_failed', 'The body is empty; it must be the file.', {
          details: [{ path: 'body', message: 'must be the file' }],
        });
    } catch (error) {
      giveBack();
      throw error;
    }
    return { bytes: Buffer.concat(pieces), [Symbol.dispose]: giveBack };
  }
}
