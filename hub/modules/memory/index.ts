import { and, eq, gt, isNull, or, sql } from 'drizzle-orm';
import type { JsonValue } from '../../../shared/json.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { memoryEntries } from '../../platform/db/schema.ts';
import { newId } from '../../platform/ids.ts';

export interface MemoryKey {
  key: string;
  sessionId?: string | undefined;
}

export interface Memory {
  /** What was remembered and has not expired, or null. */
  read(tenantId: string, entry: MemoryKey): Promise<JsonValue>;
  /** Remembers a value; null forgets it. */
  write(tx: Transaction, tenantId: string, entry: MemoryKey & { value: JsonValue; ttlSeconds?: number | undefined }): Promise<void>;
}

/** What workflows remember between runs, for each workspace and, within it, each session. */
export function createMemory(db: Database): Memory {
  const matches = ({ key, sessionId }: MemoryKey) =>
    and(eq(memoryEntries.key, key), sessionId === undefined ? isNull(memoryEntries.sessionId) : eq(memoryEntries.sessionId, sessionId));

  return {
    read: (tenantId, entry) =>
      db.workspace(tenantId, async (tx) => {
        const rows = await tx
          .select({ value: memoryEntries.value })
          .from(memoryEntries)
          .where(and(eq(memoryEntries.tenantId, tenantId), matches(entry), or(isNull(memoryEntries.expiresAt), gt(memoryEntries.expiresAt, sql`now()`))));
        return rows[0]?.value ?? null;
      }),

    async write(tx, tenantId, { value, ttlSeconds, ...entry }) {
      if (value === null) {
        await tx.delete(memoryEntries).where(and(eq(memoryEntries.tenantId, tenantId), matches(entry)));
        return;
      }
      const expiresAt = ttlSeconds === undefined ? null : sql`now() + make_interval(secs => ${ttlSeconds})`;
      await tx
        .insert(memoryEntries)
        .values({ id: newId(), tenantId, sessionId: entry.sessionId ?? null, key: entry.key, value, expiresAt })
        .onConflictDoUpdate({
          target: [memoryEntries.tenantId, memoryEntries.sessionId, memoryEntries.key],
          set: { value: sql`excluded.value`, expiresAt: sql`excluded.expires_at`, updatedAt: sql`now()` },
        });
    },
  };
}
