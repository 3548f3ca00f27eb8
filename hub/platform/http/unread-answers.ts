import type { ServerResponse } from 'node:http';
import { AppError } from '../../../shared/errors.ts';
import { freeBytes } from '../memory-budget.ts';
import type { MemoryBudget } from '../memory-budget.ts';
import type { Principal } from './principal.ts';

/** How long the reader of a large answer may read nothing of it, in milliseconds. */
const stalledMs = 15_000;

/** Whom an answer counts for: a workspace, or an address that belongs to none. */
export const ownerOf = (principal: Principal, address: string): string =>
  'tenantId' in principal && typeof principal.tenantId === 'string' ? principal.tenantId : address;

interface CountedAnswer {
  memory: MemoryBudget;
  owner: string;
  /** Length of its body. */
  bytes: number;
  isRefusable: boolean;
  /** How long its reader may read nothing of it, in milliseconds. */
  endAfterMs?: number;
}

/**
 * Counts a large answer against the memory for answers until it has been read or its connection ends. Its connection ends, too, when
 * nothing of it is read for a while.
 * @throws AppError `rate_limited` when `isRefusable` and too much for this owner waits to be read.
 */
export function countAnswer(
  response: ServerResponse,
  { memory, owner, bytes, isRefusable, endAfterMs = stalledMs }: CountedAnswer,
): void {
  if (bytes <= freeBytes || response.destroyed) return;
  const reservation = memory.open(owner);
  if (!reservation.tryResize(bytes) && isRefusable)
    throw new AppError(
      'rate_limited',
      'Other large answers have not been read yet. Read those first, then ask again.',
      { retryAfterSeconds: 5 },
    );
  const { socket } = response.req;
  const before = socket.timeout ?? 0;
  // Node.js extends it while the other side reads.
  socket.setTimeout(endAfterMs);
  response.once('finish', () => socket.setTimeout(before));
  response.once('close', () => reservation[Symbol.dispose]());
}
