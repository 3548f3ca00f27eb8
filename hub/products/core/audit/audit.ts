import type { z } from 'zod';
import type { audit as resource } from '../../../../shared/contract/core/audit.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, gte, lt } from '../../../platform/db/orm.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { idBefore, newId } from '../../../platform/ids.ts';
import { workspaceEvents } from '../events/schema.ts';
import { changeEventsOf } from './change-event.ts';
import type { AuditEntry } from './entry.ts';
import { auditLog } from './schema.ts';

/** Adds an audit entry in the transaction of the change, with the workspace events about it. */
export const recordAudit = (tx: Transaction, entry: AuditEntry): Promise<void> => recordAudits(tx, [entry]);

/** Adds several audit entries in one statement. */
export async function recordAudits(tx: Transaction, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const events = entries.flatMap((entry) =>
    changeEventsOf(entry).map((event) => ({ tenantId: entry.tenantId, ...event })),
  );
  for (const { tenantId } of events) noteWorkspaceChange(tx, tenantId);
  await Promise.all([
    tx.insert(auditLog).values(entries.map((entry) => ({ id: newId(), ...entry }))),
    events.length === 0 ? undefined : tx.insert(workspaceEvents).values(events),
  ]);
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
              // The ids contain the time of their entries, and are in the indexes.
              query.from === undefined ? undefined : gte(auditLog.id, idBefore(new Date(query.from))),
              query.to === undefined ? undefined : lt(auditLog.id, idBefore(new Date(query.to))),
              query.action === undefined ? undefined : eq(auditLog.action, query.action),
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
