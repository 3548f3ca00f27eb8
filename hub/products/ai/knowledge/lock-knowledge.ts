import type { Transaction } from '../../../platform/db/database.ts';

/** The locked knowledge row of a workspace. */
export interface LockedKnowledge {
  version: number;
  terms: string;
  lastNumber: number;
}

/**
 * Locks the knowledge of a workspace against concurrent updates of entries and vectors.
 * To avoid deadlocks, take this lock before any lock on an entry. Returns null when the workspace has no knowledge row.
 */
export async function lockKnowledge(tx: Transaction, tenantId: string): Promise<LockedKnowledge | null> {
  const { rows } = await tx.query<{ version: number; terms: string; last_number: number }>(
    'lock_knowledge_base',
    'SELECT version, terms, last_number FROM knowledge_bases WHERE tenant_id = $1 FOR UPDATE',
    [tenantId],
  );
  const [row] = rows;
  return row === undefined ? null : { version: row.version, terms: row.terms, lastNumber: row.last_number };
}
