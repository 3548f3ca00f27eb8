import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../shared/errors.ts';

/**
 * Opaque keyset cursors. A cursor holds the id of the last row of a page and a signature for one list of one workspace.
 * A forged or foreign cursor is refused without a database query. A cursor stays valid when its row is deleted.
 */
export interface Cursors {
  /** @param scope names the list and its workspace. */
  encode(scope: string, id: string): string;
  /** @throws AppError `invalid_cursor`. */
  decode(scope: string, cursor: string): string;
  /** Encodes a position that needs more than an id. */
  encodeText(scope: string, text: string): string;
  /** @throws AppError `invalid_cursor`. */
  decodeText(scope: string, cursor: string): string;
}

const idBytes = 16;
const signatureBytes = 8;

/** @param key signs the cursors; all hub processes share it. */
export function createCursors(key: Buffer): Cursors {
  const sign = (scope: string, id: Buffer) =>
    createHmac('sha256', key).update(scope).update('\0').update(id).digest().subarray(0, signatureBytes);
  return {
    encode(scope, id) {
      const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
      return Buffer.concat([bytes, sign(scope, bytes)]).toString('base64url');
    },
    decode(scope, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      const id = bytes.subarray(0, idBytes);
      if (bytes.length !== idBytes + signatureBytes || !timingSafeEqual(bytes.subarray(idBytes), sign(scope, id)))
        throw invalidCursor();
      const hex = id.toString('hex');
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    },
    encodeText(scope, text) {
      const bytes = Buffer.from(text);
      return Buffer.concat([sign(scope, bytes), bytes]).toString('base64url');
    },
    decodeText(scope, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      const text = bytes.subarray(signatureBytes);
      if (bytes.length <= signatureBytes || !timingSafeEqual(bytes.subarray(0, signatureBytes), sign(scope, text)))
        throw invalidCursor();
      return text.toString('utf8');
    },
  };
}

const invalidCursor = () =>
  new AppError(
    'invalid_cursor',
    'cursor is not valid for this list; use meta.nextCursor of the previous page, or leave it out.',
    {
      details: [{ path: 'query.cursor', message: 'is not a cursor of this list' }],
    },
  );

/**
 * Reads a page of a list.
 * @param read reads at most `limit` rows after the given id. `limit` is one more than the page size, to detect a next
 * page.
 * @throws AppError `invalid_cursor`.
 */
export async function readPage<Row extends { id: string }, Shown>(
  cursors: Cursors,
  scope: string,
  query: { limit: number; cursor?: string | undefined },
  read: (limit: number, after: string | undefined) => Promise<Row[]>,
  present: (row: Row) => Shown,
): Promise<{ data: Shown[]; meta: { limit: number; nextCursor: string | null } }> {
  const after = query.cursor === undefined ? undefined : cursors.decode(scope, query.cursor);
  const rows = await read(query.limit + 1, after);
  const pageRows = rows.slice(0, query.limit);
  const last = pageRows.at(-1);
  return {
    data: pageRows.map(present),
    meta: {
      limit: query.limit,
      nextCursor: rows.length > query.limit && last !== undefined ? cursors.encode(scope, last.id) : null,
    },
  };
}
