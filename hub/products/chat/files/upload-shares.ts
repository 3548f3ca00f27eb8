import { AppError } from '../../../../shared/errors.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';

/** The owner of an upload. */
export interface UploadOwner {
  tenantId: string;
  /** `visitor:<id>` or `user:<id>`. */
  sentBy: string;
  address: string;
}

export interface ShareLimits {
  /** Memory for uploads of this process. */
  maxReservedBytes: number;
  /** Memory for uploads of one workspace. */
  maxWorkspaceReservedBytes: number;
  /** Maximum number of concurrent uploads. */
  maxPerSender: number;
  maxPerAddress: number;
}

/** The reservation of one upload. Disposing it releases the memory. */
export interface UploadShare extends Disposable {
  /** Reserves a total of `bytes`. @throws AppError `rate_limited` if a memory limit would be exceeded. */
  reserve(bytes: number): void;
}

const tooMany = (whose: string, limit?: number) =>
  new AppError('rate_limited', `Too many files are being sent at once ${whose}; try again shortly.`, {
    retryAfterSeconds: 5,
    ...(limit === undefined ? {} : { limit }),
  });

/** Limits the memory for uploads, so that no sender, address or workspace can use all of it. */
export class UploadShares {
  readonly #limits: ShareLimits;
  readonly #counts = new Map<string, number>();
  #reserved = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** @throws AppError `rate_limited`. */
  begin({ tenantId, sentBy, address }: UploadOwner): UploadShare {
    const { maxReservedBytes, maxWorkspaceReservedBytes, maxPerSender, maxPerAddress } = this.#limits;
    const [sender, from, workspace] = [`${tenantId} ${sentBy}`, `address ${addressBlock(address)}`, tenantId];
    if (this.#countOf(sender) >= maxPerSender) throw tooMany('by this sender', maxPerSender);
    if (this.#countOf(from) >= maxPerAddress) throw tooMany('from this address', maxPerAddress);
    this.#add(sender, 1);
    this.#add(from, 1);
    let reserved = 0;
    let isReleased = false;
    return {
      reserve: (bytes) => {
        const more = bytes - reserved;
        if (this.#countOf(workspace) + more > maxWorkspaceReservedBytes) throw tooMany('in this workspace');
        if (this.#reserved + more > maxReservedBytes) throw tooMany('to this hub');
        this.#add(workspace, more);
        this.#reserved += more;
        reserved = bytes;
      },
      [Symbol.dispose]: () => {
        if (isReleased) return;
        isReleased = true;
        this.#add(sender, -1);
        this.#add(from, -1);
        this.#add(workspace, -reserved);
        this.#reserved -= reserved;
      },
    };
  }

  #countOf(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #add(key: string, more: number): void {
    const count = this.#countOf(key) + more;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
