import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ConnectionLimits {
  /** A connection that was refused has so long to take its answer. */
  lingerMs?: number;
  /** A connection on which nothing moves while an answer is due, or waits to be taken, is cut off after so long. */
  inactivityMs?: number;
}

const statusOf: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

type Connection = Socket & { _httpMessage?: ServerResponse | null };

/** Closes the connections of a server on which no request is under way: to Node, one on which half of one came is not idle. */
export function closeWithoutRequest(server: Server): () => void {
  const open = new Set<Connection>();
  server.on('connection', (socket: Connection) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  // What becomes of it then is for others to say.
  server.on('upgrade', (_request, socket: Connection) => open.delete(socket));
  return () => {
    for (const socket of open) if (socket._httpMessage === undefined || socket._httpMessage === null) socket.destroy();
  };
}

/** Requests of one connection that may wait for their answers. */
const maxPipelined = 16;

/**
 * Limits pipelined requests. The parser emits all requests of a chunk in one turn of the event loop (2,000 small requests in 64 KiB), and they
 * would block the event loop until all of them are served. A connection that exceeds the limit is destroyed.
 * @returns a function that is called once for each request and says whether the request may be served.
 */
export function limitPipelining(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const open = new WeakMap<Socket, number>();
  return ({ socket }, response) => {
    if (socket.destroyed) return false;
    const count = (open.get(socket) ?? 0) + 1;
    if (count > maxPipelined) {
      socket.destroy();
      return false;
    }
    open.set(socket, count);
    response.once('close', () => open.set(socket, (open.get(socket) ?? 1) - 1));
    return true;
  };
}

/** Lets no connection stay that is of no use: one whose request could not be read is answered and destroyed, and so is one that is silent for too long. */
export function guardConnections(
  server: Server,
  { lingerMs = 1_000, inactivityMs = 120_000 }: ConnectionLimits = {},
): void {
  // Without a listener, a time-out destroys its connection.
  server.setTimeout(inactivityMs);
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException, socket: Duplex & { _httpMessage?: ServerResponse | null }) => {
      if (socket.writableEnded) return;
      // An answer that has begun can't be followed by another one.
      if (!socket.writable || socket._httpMessage?.headersSent === true) {
        socket.destroy();
        return;
      }
      // It can't carry the id of a request that could not be read.
      socket.end(
        `HTTP/1.1 ${statusOf[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      // Read on meanwhile: to close on bytes that nobody read takes the answer back.
      socket.resume();
      const linger = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('close', () => clearTimeout(linger));
    },
  );
}
