import type { z } from 'zod';
import type { audit as resource } from '../../../../shared/contract/core/audit.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt } from '../../../platform/db/orm.ts';
import { newId } from '../../../platform/ids.ts';
import { auditLog } from './schema.ts';

export interface AuditEntry {
  tenantId: string;
  /** `user:<id>`, `token:<id>`, `node:<id>`, `email:<address>`, `platform` or `cli`. */
  actor: string;
  action: string;
  targetType: string;
  targetId: string;
  details: JsonObject;
}

/** Adds an audit entry in the transaction of the change. */
export async function recordAudit(tx: Transaction, entry: AuditEntry): Promise<void> {
  await tx.insert(auditLog).values({ id: newId(), ...entry });
}

/** Adds several audit entries in one statement. */
export async function recordAudits(tx: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length > 0) await tx.insert(auditLog).values(entries.map((entry) => ({ id: newId(), ...entry })));
}

/** The audit log of a workspace, for its admins. */
export class Audit {
  readonly #deps: { db: Database; cursors: Cursors };

  constructor(dependencies: { db: Database; cursors: Cursors }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: z.output<typeof resource.listAuditLog.query>) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(auditLog)
          .where(
            and(
              eq(auditLog.tenantId, tenantId),
              query.actor === undefined ? undefined : eq(auditLog.actor, query.actor),
              query.targetType === undefined ? undefined : eq(auditLog.targetType, query.targetType),
              query.targetId === undefined ? undefined : eq(auditLog.targetId, query.targetId),
              before === undefined ? undefined : lt(auditLog.id, before),
            ),
          )
          .orderBy(desc(auditLog.id))
          .limit(limit),
      );
    return readPage(
      this.#deps.cursors,
      `audit:${tenantId}`,
      query,
      read,
      ({ id, actor, action, targetType, targetId, details, createdAt }) => ({
        id,
        actor,
        action,
        targetType,
        targetId,
        details,
        createdAt: createdAt.toISOString(),
      }),
    );
  }
}
