import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { removeConversations } from './removal.ts';
import type { Doomed, RemovalDependencies } from './removal.ts';

/** A batch that has more behind it, as `inBatches` counts. */
const full = 1;
/** What a page begins has its source; where nobody wrote for a day, nobody meant to. */
const isEmpty = `source = 'widget' AND last_position = 0`;
const emptyDays = 1;

/**
 * Erases resolved and closed conversations whose last message is older than their workspace keeps them, with their files, those that a page began and in which nobody wrote,
 * and anonymous visitors who had no other; part of the sweep.
 */
export async function removeAgedConversations(dependencies: RemovalDependencies, stopping: AbortSignal): Promise<void> {
  const turn = newTurn(stopping);
  const { db } = dependencies;
  // The one that waits longest comes first, so that a large workspace keeps no other waiting for ever.
  const workspaces = await db.systemStatement<{ tenant_id: string; days: number }>(
    'list_chat_retentions',
    `SELECT w.tenant_id, w.days FROM (SELECT tenant_id, (settings->>'retentionDays')::int AS days FROM chat_widgets WHERE settings->>'retentionDays' IS NOT NULL) w
     CROSS JOIN LATERAL (SELECT c.moved_at FROM chat_conversations c WHERE c.tenant_id = w.tenant_id AND c.status IN ('resolved', 'closed')
       AND c.moved_at < now() - make_interval(days => w.days) ORDER BY c.moved_at LIMIT 1) oldest
     ORDER BY oldest.moved_at`,
    [],
  );
  const doomed: [string, Doomed][] = workspaces.map(({ tenant_id: tenantId, days }) => [
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
    doomed.push([
      tenantId,
      {
        name: 'left_empty',
        condition: `${isEmpty} AND moved_at < now() - make_interval(days => $2)`,
        value: emptyDays,
        skipsBusy: true,
      },
    ]);
  for (const [tenantId, which] of doomed) {
    if (stopping.aborted || performance.now() > turn.deadline) return;
    await inBatches(turn, full, async () => ((await removeSome(dependencies, tenantId, which)) ? full : 0));
  }
}

/** Removes some conversations, and of their visitors the anonymous ones who had no other. @returns whether there may be more. */
const removeSome = (dependencies: RemovalDependencies, tenantId: string, doomed: Doomed): Promise<boolean> =>
  removeConversations(dependencies, tenantId, doomed, async (tx, visitors) => {
    if (visitors.length === 0) return;
    // Whoever begins a conversation for one of them has done so once they are locked, and is seen by the next statement.
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
