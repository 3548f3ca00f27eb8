import type { Transaction } from '../../../platform/db/database.ts';

/** The knowledge of a workspace as a whole, as it stands in its row. */
export interface LockedKnowledge {
  version: number;
  terms: string;
  lastNumber: number;
}

/** Has whoever else changes the knowledge of a workspace, or its vectors, wait for this transaction; locked before any of its entries. Null before there was any. */
export async function lockKnowledge(tx: Transaction, tenantId: string): Promise<LockedKnowledge | null> {
  const { rows } = await tx.query<{ version: number; terms: string; last_number: number }>(
    'lock_knowledge_base',
    'SELECT version, terms, last_number FROM knowledge_bases WHERE tenant_id = $1 FOR UPDATE',
    [tenantId],
  );
  const [row] = rows;
  return row === undefined ? null : { version: row.version, terms: row.terms, lastNumber: row.last_number };
}
