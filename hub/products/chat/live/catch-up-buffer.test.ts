import { expect, test } from 'vitest';
import { CatchUpBuffer } from './catch-up-buffer.ts';
import type { Connection } from './connection.ts';

function slowConnection(waitingBytes: number): Connection & { closed: number | null } {
  const connection = {
    isOpen: true,
    waitingBytes,
    closed: null as number | null,
    send: () => undefined,
    close: (code: number) => {
      connection.closed = code;
      connection.isOpen = false;
    },
  };
  return connection;
}

const kib = 1024;

test('the catch-up buffer disconnects the client that waits longest when the limit is exceeded, and keeps clients that drain', async () => {
  const buffer = new CatchUpBuffer(1_500 * kib);
  const [first, second, third] = [
    slowConnection(500 * kib),
    slowConnection(500 * kib),
    slowConnection(500 * kib),
  ] as const;
  const waits = [first, second].map((connection) => buffer.waitUntilDrained(connection, 100 * kib));
  await buffer.waitUntilDrained(slowConnection(10 * kib), 10_000 * kib);
  expect(first.closed).toBeNull();
  waits.push(buffer.waitUntilDrained(third, 100 * kib));
  expect([first, second, third].map(({ closed }) => closed)).toEqual([4408, null, null]);
  Object.assign(second, { waitingBytes: 0 });
  await Promise.all(waits.slice(0, 2));
  const fourth = slowConnection(500 * kib);
  waits.push(buffer.waitUntilDrained(fourth, 100 * kib));
  expect([third, fourth].map(({ closed }) => closed)).toEqual([null, null]);
  for (const connection of [third, fourth]) Object.assign(connection, { waitingBytes: 0 });
  await Promise.all(waits);
});
