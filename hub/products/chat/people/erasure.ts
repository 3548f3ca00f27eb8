import { setTimeout as sleep } from 'node:timers/promises';
import { notFound } from '../../../../shared/errors.ts';
import { DatabaseOutage } from '../../../platform/db/database.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import { eraseStoredResponses } from '../../../platform/http/routing/idempotency.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { endAccess } from './access.ts';
import { removeConversations } from './removal.ts';
import type { RemovalDependencies } from './removal.ts';

/** Row count that makes `inBatches` run another batch. */
const full = 1;
const batchPauseMs = 20;
/** A request erases for at most this long. The sweep erases the rest. */
const maxWaitMs = 15_000;

/**
 * Erases visitors. The first transaction removes the personal data, ends links and sessions, and marks the visitor as
 * erased.
 * The sweep continues an interrupted erasure. The conversations are deleted next, the visitor last.
 */
export class Erasure {
  readonly #deps: RemovalDependencies;

  constructor(dependencies: RemovalDependencies) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`. */
  async erase(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const { rowCount } = await tx.query(
        'mark_visitor_erased',
        `UPDATE chat_visitors SET erased_at = clock_timestamp(), blocked_at = coalesce(blocked_at, clock_timestamp()), external_id = NULL, display_name = NULL,
           email = NULL, phone = NULL, attributes = '{}', last_address = NULL, last_seen_at = NULL, updated_at = now()
         WHERE tenant_id = $1 AND id = $2 AND erased_at IS NULL`,
        [tenantId, id],
      );
      if (rowCount === 0) throw notFound('visitor', id);
      const [ended] = await Promise.all([
        endAccess(tx, tenantId, id),
        eraseStoredResponses(tx, tenantId),
        recordAudit(tx, {
          tenantId,
          actor,
          action: 'visitor.erased',
          targetType: 'visitor',
          targetId: id,
          details: {},
        }),
      ]);
      publishAccessChange(tx, tenantId);
      for (const conversation of ended) publishChatChange(tx, tenantId, conversation, { kind: 'access' });
    });
    const deadline = performance.now() + maxWaitMs;
    try {
      while ((await this.#eraseBatch(tenantId, id)) && performance.now() < deadline) await sleep(batchPauseMs);
    } catch (error) {
      // The visitor is marked as erased, so the sweep finishes the erasure.
      if (!(error instanceof DatabaseOutage)) throw error;
    }
    return { id, deleted: true };
  }

  /** Continues unfinished erasures, of stopped processes and of visitors with many messages. Part of the sweep. */
  async sweep(stopping: AbortSignal): Promise<void> {
    const turn = newTurn(stopping);
    const visitors = await this.#deps.db.systemStatement<{ id: string; tenant_id: string }>(
      'list_erased_visitors',
      'SELECT id, tenant_id FROM chat_visitors WHERE erased_at IS NOT NULL ORDER BY id LIMIT 100',
      [],
    );
    for (const { id, tenant_id: tenantId } of visitors) {
      if (stopping.aborted || performance.now() > turn.deadline) return;
      await inBatches(turn, full, async () => ((await this.#eraseBatch(tenantId, id)) ? full : 0));
    }
  }

  /** Erases one batch. Returns whether there is more to erase. */
  async #eraseBatch(tenantId: string, id: string): Promise<boolean> {
    const filter = { name: 'of_visitor', condition: 'visitor_id = $2', value: id, skipsBusy: false };
    if (await removeConversations(this.#deps, tenantId, filter, async () => undefined)) return true;
    return this.#deps.db.workspace(tenantId, async (tx) => {
      // After this lock, a concurrent transaction has either opened its conversation or finds no visitor.
      await tx.query('lock_erased_visitor', 'SELECT FROM chat_visitors WHERE tenant_id = $1 AND id = $2 FOR UPDATE', [
        tenantId,
        id,
      ]);
      const { rowCount } = await tx.query(
        'remove_erased_visitor',
        `DELETE FROM chat_visitors v WHERE tenant_id = $1 AND id = $2 AND erased_at IS NOT NULL
           AND NOT EXISTS (SELECT FROM chat_conversations c WHERE c.visitor_id = v.id)`,
        [tenantId, id],
      );
      // The visitor still exists if a conversation was opened meanwhile.
      return rowCount === 0 && (await exists(tx, tenantId, id));
    });
  }
}

async function exists(tx: Transaction, tenantId: string, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'has_erased_visitor',
    'SELECT FROM chat_visitors WHERE tenant_id = $1 AND id = $2',
    [tenantId, id],
  );
  return rowCount !== 0;
}
