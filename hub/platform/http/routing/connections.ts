import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ConnectionLimits {
  /** Time that a client has to read the response to a malformed request. */
  lingerMs?: number;
  /** Time without traffic after which a connection is destroyed. */
  inactivityMs?: number;
}

const statusOf: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

type Connection = Socket & { _httpMessage?: ServerResponse | null };

/**
 * Tracks the connections of a server. The returned function closes those without a request in progress.
 * `closeIdleConnections` of Node.js is not enough: it skips a connection that has received a part of a request.
 */
export function closeWithoutRequest(server: Server): () => void {
  const open = new Set<Connection>();
  server.on('connection', (socket: Connection) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  // The WebSocket code closes upgraded connections.
  server.on('upgrade', (_request, socket: Connection) => open.delete(socket));
  return () => {
    for (const socket of open) if (socket._httpMessage === undefined || socket._httpMessage === null) socket.destroy();
  };
}

/** Maximum requests in progress on one connection. */
const maxPipelined = 16;

/**
 * Limits pipelined requests. The parser emits all requests of a chunk in one turn of the event loop: 2,000 small
 * requests in 64 KiB. Without a limit, they would block the event loop until all of them are served. A connection that
 * exceeds the limit is destroyed.
 * @returns a function to call once for each request. It returns whether the request may be served.
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

/** Destroys connections without traffic. Responds to a malformed request, then destroys its connection. */
export function guardConnections(
  server: Server,
  { lingerMs = 1_000, inactivityMs = 120_000 }: ConnectionLimits = {},
): void {
  // Without a listener, the time-out destroys the connection.
  server.setTimeout(inactivityMs);
  server.on(
    'clientError',
    (error: NodeJS.ErrnoException, socket: Duplex & { _httpMessage?: ServerResponse | null }) => {
      if (socket.writableEnded) return;
      // A second response cannot follow one that has started.
      if (!socket.writable || socket._httpMessage?.headersSent === true) {
        socket.destroy();
        return;
      }
      // The response has no request id, because the headers could not be parsed.
      socket.end(
        `HTTP/1.1 ${statusOf[error.code ?? ''] ?? '400 Bad Request'}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      // Keep reading: closing a connection with unread bytes resets it, and the client may lose the response.
      socket.resume();
      const linger = setTimeout(() => socket.destroy(), lingerMs);
      socket.once('close', () => clearTimeout(linger));
    },
  );
}
