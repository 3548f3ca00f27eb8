import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../../../../shared/errors.ts';
import { freeBytes } from '../../process/memory-budget.ts';
import type { MemoryBudget } from '../../process/memory-budget.ts';
import type { Principal } from '../auth/principal.ts';

/** How long the reader of a large answer may read nothing of it, in milliseconds. */
const readerStallMs = 15_000;

/** Large answers of a connection that are not read yet, and the time-out that the connection had before, in milliseconds. */
const unreadAnswers = new WeakMap<Socket, { count: number; timeoutBefore: number }>();

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
export function countUnreadResponse(
  response: ServerResponse,
  { memory, owner, bytes, isRefusable, endAfterMs = readerStallMs }: CountedAnswer,
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
  // A connection may have several unread answers, because requests can be pipelined.
  const unread = unreadAnswers.get(socket) ?? { count: 0, timeoutBefore: socket.timeout ?? 0 };
  unread.count += 1;
  unreadAnswers.set(socket, unread);
  // Node.js extends it while the other side reads.
  socket.setTimeout(endAfterMs);
  response.once('close', () => {
    reservation[Symbol.dispose]();
    unread.count -= 1;
    if (unread.count > 0) return;
    unreadAnswers.delete(socket);
    socket.setTimeout(unread.timeoutBefore);
  });
}
