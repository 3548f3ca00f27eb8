import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { auditLog } from '../../platform/db/schema.ts';
import { newId } from '../../platform/ids.ts';

export interface AuditEntry {
  tenantId: string;
  /** `user:<id>`, `token:<id>`, `node:<id>`, `platform` or `cli`. */
  actor: string;
  action: string;
  targetType: string;
  targetId: string;
  details: JsonObject;
}

/** Writes who changed what, in the transaction of the change. */
export async function recordAudit(tx: Transaction, entry: AuditEntry): Promise<void> {
  await tx.insert(auditLog).values({ id: newId(), ...entry });
}
