import { AppError } from '../../shared/errors.ts';
import type { Cursors } from './cursor.ts';
import { heapOfText, OutOfMemory } from './process/memory-budget.ts';
import type { MemoryBudget, MemoryReservation } from './process/memory-budget.ts';

/**
 * Limit of the rows of one page, in bytes as PostgreSQL returns them. A page ends before the row that would exceed it,
 * but has at least one row.
 */
const maxPageBytes = 4 * 1024 * 1024;

/** Largest page that is read without a memory reservation, in bytes. */
const smallPageBytes = 256 * 1024;

/** Id and size of a row whose large columns have not been read. */
export interface RowSize {
  id: string;
  /** Size of its large columns, in bytes. */
  bytes: number;
}

/**
 * Reserves memory for a response.
 * @throws AppError `rate_limited` when other large responses leave no memory within the wait time.
 */
export async function reserveAnswer(memory: MemoryReservation, heapBytes: number, signal?: AbortSignal): Promise<void> {
  try {
    await memory.resize(heapBytes, signal ?? new AbortController().signal);
  } catch (error) {
    if (!(error instanceof OutOfMemory)) throw error;
    throw new AppError(
      'rate_limited',
      'Other large responses to this workspace have not been read yet. Read them first, then retry.',
      { retryAfterSeconds: 5 },
    );
  }
}

/**
 * Reads a page of a list whose rows may be large. It reads the sizes first, then as many rows as fit in one page and in
 * the memory for responses. A page can have fewer rows than its limit; `meta.nextCursor` leads to the rest.
 * @param list.measure reads at most `limit` ids and sizes in list order, after the given id.
 * @param list.read reads the rows with these ids, in any order.
 * @throws AppError `invalid_cursor`; `rate_limited` when other large responses leave no memory within the wait time.
 */
export async function readLargePage<Row extends { id: string }, Shown>(
  { cursors, answerMemory }: { cursors: Cursors; answerMemory: MemoryBudget },
  tenantId: string,
  scope: string,
  query: { limit: number; cursor?: string | undefined },
  list: {
    measure: (limit: number, after: string | undefined) => Promise<RowSize[]>;
    read: (ids: string[]) => Promise<Row[]>;
    present: (row: Row) => Shown;
  },
): Promise<{ data: Shown[]; meta: { limit: number; nextCursor: string | null } }> {
  const after = query.cursor === undefined ? undefined : cursors.decode(scope, query.cursor);
  const sizes = await list.measure(query.limit + 1, after);
  const page = rowsThatFit(sizes.slice(0, query.limit));
  using memory = answerMemory.open(tenantId);
  await reservePage(memory, page);
  const ids = page.map(({ id }) => id);
  const rows = new Map((ids.length === 0 ? [] : await list.read(ids)).map((row) => [row.id, row]));
  const last = ids.at(-1);
  return {
    // A row can be deleted between the two reads.
    data: ids.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [list.present(row)];
    }),
    meta: {
      limit: query.limit,
      nextCursor: sizes.length > page.length && last !== undefined ? cursors.encode(scope, last) : null,
    },
  };
}

/**
 * Reserves memory for the rows of a page.
 * @throws AppError `rate_limited` when other large responses leave no memory within the wait time.
 */
export async function reservePage(memory: MemoryReservation, page: readonly { bytes: number }[]): Promise<void> {
  const bytes = page.reduce((sum, row) => sum + row.bytes, 0);
  if (bytes > smallPageBytes) await reserveAnswer(memory, heapOfText(bytes));
}

/** The leading rows that fit in one page. */
export function rowsThatFit<Row extends { bytes: number }>(sizes: readonly Row[]): readonly Row[] {
  let bytes = 0;
  const end = sizes.findIndex((row) => (bytes += row.bytes) > maxPageBytes);
  return end === -1 ? sizes : sizes.slice(0, Math.max(1, end));
}
