import { and, desc, eq, gt, isNull, lt, or, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { maxMemoryEntries, memory as resource } from '../../../../shared/contract/automations/memory.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { automationSessions } from '../sessions/schema.ts';
import { memoryEntries } from './schema.ts';

export interface MemoryKey {
  key: string;
  sessionId?: string | undefined;
}

type Row = typeof memoryEntries.$inferSelect;
type ListQuery = z.output<typeof resource.listAutomationMemory.query>;
type PutBody = z.output<typeof resource.putAutomationMemory.body>;

export interface Memory {
  list(tenantId: string, query: ListQuery): Promise<z.input<typeof resource.listAutomationMemory.response>>;
  /** @throws AppError `not_found` for a session that there is not, `memory_full`. */
  put(tenantId: string, body: PutBody): Promise<z.input<typeof resource.putAutomationMemory.response>>;
  /** What was remembered and has not expired, or null. */
  read(tenantId: string, entry: MemoryKey): Promise<JsonValue>;
  /** Remembers a value; null forgets it. @throws AppError `not_found`, `memory_full`. */
  write(
    tx: Transaction,
    tenantId: string,
    entry: MemoryKey & { value: JsonValue; ttlSeconds?: number | undefined },
  ): Promise<void>;
}

const ofSession = (sessionId: string | undefined) =>
  sessionId === undefined ? isNull(memoryEntries.sessionId) : eq(memoryEntries.sessionId, sessionId);
const isFresh = or(isNull(memoryEntries.expiresAt), gt(memoryEntries.expiresAt, sql`now()`));

function present(row: Row) {
  return {
    key: row.key,
    value: row.value,
    sessionId: row.sessionId,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** What workflows remember between runs, for each workspace and, within it, each session. */
export function createMemory(db: Database, cursors: Cursors): Memory {
  const write = async (
    tx: Transaction,
    tenantId: string,
    { value, ttlSeconds, key, sessionId }: Parameters<Memory['write']>[2],
  ): Promise<Row | null> => {
    if (value === null) {
      await tx
        .delete(memoryEntries)
        .where(and(eq(memoryEntries.tenantId, tenantId), eq(memoryEntries.key, key), ofSession(sessionId)));
      return null;
    }
    if (sessionId !== undefined) {
      const [session] = await tx
        .select({ id: automationSessions.id })
        .from(automationSessions)
        .where(and(eq(automationSessions.tenantId, tenantId), eq(automationSessions.id, sessionId)));
      if (session === undefined)
        throw new AppError(
          'not_found',
          `There is no session ${sessionId} in this workspace; make it with POST /v1/automations/sessions.`,
        );
    }
    const expiresAt = ttlSeconds === undefined ? null : sql`now() + make_interval(secs => ${ttlSeconds})`;
    const [row] = await tx
      .insert(memoryEntries)
      .values({ id: newId(), tenantId, sessionId: sessionId ?? null, key, value, expiresAt })
      .onConflictDoUpdate({
        target: [memoryEntries.tenantId, memoryEntries.sessionId, memoryEntries.key],
        set: { value: sql`excluded.value`, expiresAt: sql`excluded.expires_at`, updatedAt: sql`now()` },
      })
      .returning();
    const written = row as Row;
    // Only an entry that is new can make it too many.
    if (written.createdAt.getTime() === written.updatedAt.getTime()) {
      const [count] = await tx
        .select({ count: sql<number>`count(*)::int` })
        .from(memoryEntries)
        .where(eq(memoryEntries.tenantId, tenantId));
      if ((count?.count ?? 0) > maxMemoryEntries)
        throw new AppError(
          'memory_full',
          `This workspace remembers ${maxMemoryEntries} entries already; forget some by writing null, or give them a ttlSeconds.`,
        );
    }
    return written;
  };

  return {
    list: (tenantId, query) => {
      const read = (limit: number, before: string | undefined) =>
        db.workspace(tenantId, (tx) =>
          tx
            .select()
            .from(memoryEntries)
            .where(
              and(
                eq(memoryEntries.tenantId, tenantId),
                query.key === undefined ? undefined : eq(memoryEntries.key, query.key),
                ofSession(query.sessionId),
                isFresh,
                before === undefined ? undefined : lt(memoryEntries.id, before),
              ),
            )
            .orderBy(desc(memoryEntries.id))
            .limit(limit),
        );
      return readPage(cursors, `memory:${tenantId}`, query, read, present);
    },
    async put(tenantId, body) {
      const row = await db.workspace(tenantId, (tx) => write(tx, tenantId, body));
      return row === null
        ? {
            key: body.key,
            value: null,
            sessionId: body.sessionId ?? null,
            expiresAt: null,
            updatedAt: new Date().toISOString(),
          }
        : present(row);
    },
    read: (tenantId, { key, sessionId }) =>
      db.workspace(tenantId, async (tx) => {
        const rows = await tx
          .select({ value: memoryEntries.value })
          .from(memoryEntries)
          .where(and(eq(memoryEntries.tenantId, tenantId), eq(memoryEntries.key, key), ofSession(sessionId), isFresh));
        return rows[0]?.value ?? null;
      }),
    async write(tx, tenantId, entry) {
      await write(tx, tenantId, entry);
    },
  };
}
