import { expect, test } from 'vitest';
import type { Connection } from './connection.ts';
import { SlowReaders } from './slow-readers.ts';

/** A reader of whom so much waits. */
function reader(waitingBytes: number): Connection & { closed: number | null } {
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

test('what is kept for slow readers is bounded: who waits longest is closed, and who takes what waits goes on', async () => {
  const readers = new SlowReaders(1_500 * kib);
  const [first, second, third] = [reader(500 * kib), reader(500 * kib), reader(500 * kib)] as const;
  const waits = [first, second].map((connection) => readers.untilTaken(connection, 100 * kib));
  await readers.untilTaken(reader(10 * kib), 10_000 * kib);
  expect(first.closed).toBeNull();
  waits.push(readers.untilTaken(third, 100 * kib));
  expect([first, second, third].map(({ closed }) => closed)).toEqual([4408, null, null]);
  Object.assign(second, { waitingBytes: 0 });
  await Promise.all(waits.slice(0, 2));
  const fourth = reader(500 * kib);
  waits.push(readers.untilTaken(fourth, 100 * kib));
  expect([third, fourth].map(({ closed }) => closed)).toEqual([null, null]);
  for (const connection of [third, fourth]) Object.assign(connection, { waitingBytes: 0 });
  await Promise.all(waits);
});
