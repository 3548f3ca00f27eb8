import type { Socket } from 'node:net';

/**
 * Calls `onLine` with the JSON value of each line. A line that is not JSON or is longer than `maxLength` characters
 * ends the connection, because this protocol does not allow it.
 */
export function readLines(socket: Socket, maxLength: number, onLine: (value: unknown) => void): void {
  let parts: string[] = [];
  let length = 0;
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    let rest = chunk;
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
      const line = [...parts, rest.slice(0, end)].join('');
      [parts, length, rest] = [[], 0, rest.slice(end + 1)];
      let value: unknown;
      try {
        value = JSON.parse(line);
      } catch {
        socket.destroy();
        return;
      }
      onLine(value);
      if (socket.destroyed) return;
    }
    if (rest === '') return;
    parts.push(rest);
    length += rest.length;
    if (length > maxLength) socket.destroy();
  });
}
