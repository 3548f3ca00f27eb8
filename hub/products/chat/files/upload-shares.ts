import { AppError } from '../../../../shared/errors.ts';
import { addressBlock } from '../../../platform/rate-limiter/address-block.ts';

/** Whose a file on its way is. */
export interface UploadOwner {
  tenantId: string;
  /** `visitor:<id>` or `user:<id>`. */
  sentBy: string;
  address: string;
}

export interface ShareLimits {
  /** Bytes of files that are in the memory of this process at once. */
  maxHeldBytes: number;
  /** Of those, for one workspace. */
  maxWorkspaceHeldBytes: number;
  /** Files at once. */
  maxPerSender: number;
  maxPerAddress: number;
}

/** What one file on its way takes; given back when it is disposed. */
export interface UploadShare extends Disposable {
  /** @throws AppError `rate_limited` when there is no room for so many bytes. */
  hold(bytes: number): void;
}

const tooMany = (whose: string, limit?: number) =>
  new AppError('rate_limited', `Too many files are being sent at once ${whose}; try again shortly.`, {
    retryAfterSeconds: 5,
    ...(limit === undefined ? {} : { limit }),
  });

/** Shares the room for files on their way, so that no sender, address or workspace takes all of it from the others. */
export class UploadShares {
  readonly #limits: ShareLimits;
  readonly #counts = new Map<string, number>();
  #held = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** @throws AppError `rate_limited`. */
  begin({ tenantId, sentBy, address }: UploadOwner): UploadShare {
    const { maxHeldBytes, maxWorkspaceHeldBytes, maxPerSender, maxPerAddress } = this.#limits;
    const [sender, from, workspace] = [`${tenantId} ${sentBy}`, `address ${addressBlock(address)}`, tenantId];
    if (this.#countOf(sender) >= maxPerSender) throw tooMany('by this sender', maxPerSender);
    if (this.#countOf(from) >= maxPerAddress) throw tooMany('from this address', maxPerAddress);
    this.#add(sender, 1);
    this.#add(from, 1);
    let held = 0;
    let isOver = false;
    return {
      hold: (bytes) => {
        const more = bytes - held;
        if (this.#countOf(workspace) + more > maxWorkspaceHeldBytes) throw tooMany('in this workspace');
        if (this.#held + more > maxHeldBytes) throw tooMany('to this hub');
        this.#add(workspace, more);
        this.#held += more;
        held = bytes;
      },
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#add(sender, -1);
        this.#add(from, -1);
        this.#add(workspace, -held);
        this.#held -= held;
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
