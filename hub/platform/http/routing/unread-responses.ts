import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../../../../shared/errors.ts';
import { freeBytes } from '../../process/memory-budget.ts';
import type { MemoryBudget } from '../../process/memory-budget.ts';
import type { Principal } from '../auth/principal.ts';

/** Time without progress after which the connection of a client that does not read a large response is destroyed. */
const readerStallMs = 15_000;

/** Number of large unread responses of a connection, and its previous time-out in milliseconds. */
const unreadResponses = new WeakMap<Socket, { count: number; timeoutBefore: number }>();

/** The owner that a response counts for: the workspace, or the address of a caller without a workspace. */
export const ownerOf = (principal: Principal, address: string): string =>
  'tenantId' in principal && typeof principal.tenantId === 'string' ? principal.tenantId : address;

interface CountedResponse {
  memory: MemoryBudget;
  owner: string;
  /** Length of the body. */
  bytes: number;
  isRefusable: boolean;
  /** Time without progress after which the connection is destroyed. */
  endAfterMs?: number;
}

/**
 * Reserves memory for a large response until the client has read it or the connection ends. The connection is destroyed
 * when the client reads nothing for `endAfterMs`.
 * @throws AppError `rate_limited` when `isRefusable` and this owner has too many unread bytes.
 */
export function countUnreadResponse(
  response: ServerResponse,
  { memory, owner, bytes, isRefusable, endAfterMs = readerStallMs }: CountedResponse,
): void {
  if (bytes <= freeBytes || response.destroyed) return;
  const reservation = memory.open(owner);
  if (!reservation.tryResize(bytes) && isRefusable)
    throw new AppError(
      'rate_limited',
      'Other large responses have not been read yet. Read those first, then try again.',
      { retryAfterSeconds: 5 },
    );
  const { socket } = response.req;
  // A connection may have several unread responses, because requests can be pipelined.
  const unread = unreadResponses.get(socket) ?? { count: 0, timeoutBefore: socket.timeout ?? 0 };
  unread.count += 1;
  unreadResponses.set(socket, unread);
  // Node.js restarts the time-out whenever the client reads.
  socket.setTimeout(endAfterMs);
  response.once('close', () => {
    reservation[Symbol.dispose]();
    unread.count -= 1;
    if (unread.count > 0) return;
    unreadResponses.delete(socket);
    socket.setTimeout(unread.timeoutBefore);
  });
}
