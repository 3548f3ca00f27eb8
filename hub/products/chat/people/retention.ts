import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { removeConversations } from './removal.ts';
import type { RemovalFilter, RemovalDependencies } from './removal.ts';

/** Row count that makes `inBatches` run another batch. */
const full = 1;
/** A page opened the conversation, but no message was written. Empty conversations are deleted after a day. */
const isEmpty = `source = 'widget' AND last_position = 0`;
const emptyDays = 1;

/**
 * Deletes resolved and closed conversations whose last message is older than the retention time of the workspace, and
 * empty conversations.
 * Also deletes anonymous visitors who have no other conversation. Part of the sweep.
 */
export async function removeAgedConversations(dependencies: RemovalDependencies, stopping: AbortSignal): Promise<void> {
  const turn = newTurn(stopping);
  const { db } = dependencies;
  // The workspace with the oldest conversation comes first, so that a large workspace cannot starve the others.
  const workspaces = await db.systemStatement<{ tenant_id: string; days: number }>(
    'list_chat_retentions',
    `SELECT w.tenant_id, w.days FROM (SELECT tenant_id, (settings->>'retentionDays')::int AS days FROM chat_widgets WHERE settings->>'retentionDays' IS NOT NULL) w
     CROSS JOIN LATERAL (SELECT c.moved_at FROM chat_conversations c WHERE c.tenant_id = w.tenant_id AND c.status IN ('resolved', 'closed')
       AND c.moved_at < now() - make_interval(days => w.days) ORDER BY c.moved_at LIMIT 1) oldest
     ORDER BY oldest.moved_at`,
    [],
  );
  const filters: [string, RemovalFilter][] = workspaces.map(({ tenant_id: tenantId, days }) => [
    tenantId,
    {
      name: 'beyond_their_days',
      condition: `status IN ('resolved', 'closed') AND moved_at < now() - make_interval(days => $2)`,
      value: days,
      skipsBusy: true,
    },
  ]);
  const withEmpty = await db.systemStatement<{ tenant_id: string }>(
    'list_workspaces_with_empty_chats',
    `SELECT DISTINCT tenant_id FROM chat_conversations WHERE ${isEmpty} AND moved_at < now() - make_interval(days => $1)`,
    [emptyDays],
  );
  for (const { tenant_id: tenantId } of withEmpty)
    filters.push([
      tenantId,
      {
        name: 'left_empty',
        condition: `${isEmpty} AND moved_at < now() - make_interval(days => $2)`,
        value: emptyDays,
        skipsBusy: true,
      },
    ]);
  for (const [tenantId, filter] of filters) {
    if (stopping.aborted || performance.now() > turn.deadline) return;
    await inBatches(turn, full, async () => ((await removeBatch(dependencies, tenantId, filter)) ? full : 0));
  }
}

/**
 * Deletes one batch of conversations, and their anonymous visitors who have no other.
 * @returns whether there may be more.
 */
const removeBatch = (dependencies: RemovalDependencies, tenantId: string, filter: RemovalFilter): Promise<boolean> =>
  removeConversations(dependencies, tenantId, filter, async (tx, visitors) => {
    if (visitors.length === 0) return;
    // The lock waits for transactions that open a conversation for these visitors. The next statement sees those
    // conversations.
    await tx.query(
      'lock_left_visitors',
      'SELECT FROM chat_visitors WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR UPDATE',
      [tenantId, visitors],
    );
    await tx.query(
      'remove_left_visitors',
      `DELETE FROM chat_visitors v WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND external_id IS NULL
         AND NOT EXISTS (SELECT FROM chat_conversations c WHERE c.visitor_id = v.id)`,
      [tenantId, visitors],
    );
  });
