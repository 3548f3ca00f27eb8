import type { z } from 'zod';
import { maxMemoryEntries, memory as resource } from '../../../../shared/contract/automations/memory.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, desc, eq, gt, inArray, isNull, lt, lte, or, sql } from '../../../platform/db/orm.ts';
import { newId } from '../../../platform/ids.ts';
import { readLargePage } from '../../../platform/large-pages.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { automationSessions } from '../sessions/schema.ts';
import { memoryEntries } from './schema.ts';

interface MemoryKey {
  key: string;
  sessionId?: string | undefined;
}

interface NewEntry extends MemoryKey {
  value: JsonValue;
  ttlSeconds?: number | undefined;
}

type Row = typeof memoryEntries.$inferSelect;
type ListQuery = z.output<typeof resource.listAutomationMemory.query>;
type PutBody = z.output<typeof resource.putAutomationMemory.body>;

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

/** Key-value memory of workflows between runs, per workspace and optionally per session. */
export class Memory {
  readonly #deps: { db: Database; cursors: Cursors; answerMemory: MemoryBudget };

  constructor(dependencies: { db: Database; cursors: Cursors; answerMemory: MemoryBudget }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const { db } = this.#deps;
    const measure = (limit: number, before: string | undefined) =>
      db.read(tenantId, (tx) =>
        tx
          .select({ id: memoryEntries.id, bytes: sql<number>`${sql.raw(memorySize('value', '[]'))}` })
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
    const read = (ids: string[]) =>
      db.read(tenantId, (tx) =>
        tx
          .select()
          .from(memoryEntries)
          .where(and(eq(memoryEntries.tenantId, tenantId), inArray(memoryEntries.id, ids))),
      );
    return readLargePage(this.#deps, tenantId, `memory:${tenantId}`, query, { measure, read, present });
  }

  /** @throws AppError `not_found` for an unknown session, `memory_full`. */
  async put(tenantId: string, body: PutBody): Promise<z.input<typeof resource.putAutomationMemory.response>> {
    const row = await this.#deps.db.workspace(tenantId, (tx) => writeEntry(tx, tenantId, body));
    if (row !== null) return present(row);
    const { key, sessionId = null } = body;
    return { key, value: null, sessionId, expiresAt: null, updatedAt: new Date().toISOString() };
  }

  /** The unexpired value of a key; null when there is none. */
  read(tenantId: string, { key, sessionId }: MemoryKey): Promise<JsonValue> {
    return this.#deps.db.read(tenantId, async (tx) => {
      const rows = await tx
        .select({ value: memoryEntries.value })
        .from(memoryEntries)
        .where(and(eq(memoryEntries.tenantId, tenantId), eq(memoryEntries.key, key), ofSession(sessionId), isFresh));
      return rows[0]?.value ?? null;
    });
  }

  /** Stores a value; null deletes it. @throws AppError `not_found`, `memory_full`. */
  async write(tx: Transaction, tenantId: string, entry: NewEntry): Promise<void> {
    await writeEntry(tx, tenantId, entry);
  }
}

/** Deletes the expired entries of a workspace that retention has not removed yet; answers how many there were. */
async function deleteExpired(tx: Transaction, tenantId: string): Promise<number> {
  const deleted = await tx
    .delete(memoryEntries)
    .where(and(eq(memoryEntries.tenantId, tenantId), lte(memoryEntries.expiresAt, sql`now()`)))
    .returning({ id: memoryEntries.id });
  return deleted.length;
}

async function writeEntry(
  tx: Transaction,
  tenantId: string,
  { value, ttlSeconds, key, sessionId }: NewEntry,
): Promise<Row | null> {
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
        `There is no session ${sessionId} in this workspace. Create it with POST /v1/automations/sessions.`,
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
  // Only a new entry can exceed the limit.
  if (written.createdAt.getTime() === written.updatedAt.getTime()) {
    const [count] = await tx
      .select({ count: sql<number>`count(*)::int` })
      .from(memoryEntries)
      .where(eq(memoryEntries.tenantId, tenantId));
    const excess = (count?.count ?? 0) - maxMemoryEntries;
    if (excess > 0 && (await deleteExpired(tx, tenantId)) < excess)
      throw new AppError(
        'memory_full',
        `This workspace has ${maxMemoryEntries} memory entries, which is the limit. Delete some by writing null, or set ttlSeconds.`,
      );
  }
  return written;
}
