import type { z } from 'zod';
import type { InboxView, ListedView } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { inbox as resource } from '../../../../shared/contract/chat/inbox.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { ConversationFilter } from '../conversations/index.ts';
import { inboxColumns, inboxJoins, presentInboxConversation } from './rows.ts';

const isAwake = '(c.snoozed_until IS NULL OR c.snoozed_until <= now())';
const isAtWork = `c.status IN ('open', 'pending')`;

/** What each view holds, of a conversation `c`; `?` is whose it is. */
const viewConditions: Record<ListedView, string | null> = {
  all: null,
  mine: `${isAtWork} AND c.assigned_user_id = ? AND ${isAwake}`,
  unassigned: `${isAtWork} AND c.assigned_user_id IS NULL AND ${isAwake}`,
  open: `c.status = 'open' AND ${isAwake}`,
  pending: `c.status = 'pending' AND ${isAwake}`,
  snoozed: `${isAtWork} AND c.snoozed_until > now()`,
  resolved: `c.status = 'resolved'`,
  closed: `c.status = 'closed'`,
  unread: 'c.unread_count > 0',
  assigned: `${isAtWork} AND c.assigned_user_id = ? AND ${isAwake}`,
  visitor: 'c.visitor_id = ?',
};

export const inboxView = {
  name: 'inbox',
  columns: inboxColumns,
  joins: inboxJoins,
  present: presentInboxConversation,
};

type Query = z.output<typeof resource.listInboxConversations.query>;

/** The filter of a list as a member asks for it. */
export function inboxFilter({ view, userId, visitorId }: Query, ownId: string): ConversationFilter {
  const condition = viewConditions[view];
  if (condition === null) return { name: 'all', conditions: [] };
  const value = { mine: ownId, assigned: userId, visitor: visitorId }[view as string];
  return { name: view, conditions: [value === undefined ? { text: condition } : { text: condition, value }] };
}

/** How many conversations each view of a member holds, and how many have messages that no agent has read. */
export async function countViews(
  tx: Transaction,
  tenantId: string,
  userId: string,
): Promise<Record<InboxView | 'unread', number>> {
  // What is at work is counted by conditions, in the indexes of that alone; the rest, of which there is most, by its status.
  const [work, rest, unread] = await Promise.all([
    tx.query<Record<'mine' | 'unassigned' | 'open' | 'pending' | 'snoozed' | 'work', number>>(
      'count_inbox_work',
      `SELECT count(*) FILTER (WHERE c.assigned_user_id = $2 AND ${isAwake})::int AS mine, count(*) FILTER (WHERE c.assigned_user_id IS NULL AND ${isAwake})::int AS unassigned,
         count(*) FILTER (WHERE c.status = 'open' AND ${isAwake})::int AS open, count(*) FILTER (WHERE c.status = 'pending' AND ${isAwake})::int AS pending,
         count(*) FILTER (WHERE NOT ${isAwake})::int AS snoozed, count(*)::int AS work
       FROM chat_conversations c WHERE c.tenant_id = $1 AND ${isAtWork}`,
      [tenantId, userId],
    ),
    tx.query<{ status: string; count: number }>(
      'count_inbox_rest',
      `SELECT c.status, count(*)::int AS count FROM chat_conversations c WHERE c.tenant_id = $1 AND c.status IN ('resolved', 'closed') GROUP BY c.status`,
      [tenantId],
    ),
    tx.query<{ count: number }>(
      'count_inbox_unread',
      'SELECT count(*)::int AS count FROM chat_conversations c WHERE c.tenant_id = $1 AND c.unread_count > 0',
      [tenantId],
    ),
  ]);
  const [counts] = work.rows;
  if (counts === undefined) throw new Error('nothing was counted');
  const { work: atWork, ...views } = counts;
  const of = (status: string) => rest.rows.find((row) => row.status === status)?.count ?? 0;
  const [resolved, closed] = [of('resolved'), of('closed')];
  return { ...views, resolved, closed, all: atWork + resolved + closed, unread: unread.rows[0]?.count ?? 0 };
}
