import type { z } from 'zod';
import type { InboxView, ListedView } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { inbox as resource } from '../../../../shared/contract/chat/inbox.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { ConversationFilter } from '../conversations/index.ts';
import { inboxColumns, inboxJoins, presentInboxConversation } from './rows.ts';

const isNotSnoozed = '(c.snoozed_until IS NULL OR c.snoozed_until <= now())';
const isActive = `c.status IN ('open', 'pending')`;

/** The conversation is assigned or needs an agent. */
const isListed = `(c.assigned_user_id IS NOT NULL OR c.has_started)`;

/** The SQL condition of each view over the alias `c`. `?` is the user or visitor id. */
const viewConditions: Record<ListedView, string | null> = {
  all: null,
  mine: `${isActive} AND c.assigned_user_id = ? AND ${isNotSnoozed}`,
  unassigned: `${isActive} AND c.assigned_user_id IS NULL AND ${isNotSnoozed} AND ${isListed}`,
  open: `c.status = 'open' AND ${isNotSnoozed} AND ${isListed}`,
  pending: `c.status = 'pending' AND ${isNotSnoozed}`,
  snoozed: `${isActive} AND c.snoozed_until > now()`,
  resolved: `c.status = 'resolved'`,
  closed: `c.status = 'closed'`,
  unread: 'c.unread_count > 0',
  assigned: `${isActive} AND c.assigned_user_id = ? AND ${isNotSnoozed}`,
  visitor: 'c.visitor_id = ?',
};

export const inboxView = {
  name: 'inbox',
  columns: inboxColumns,
  joins: inboxJoins,
  present: presentInboxConversation,
};

type Query = z.output<typeof resource.listInboxConversations.query>;

/** The filter of an inbox list request. */
export function inboxFilter({ view, userId, visitorId }: Query, ownId: string): ConversationFilter {
  const condition = viewConditions[view];
  if (condition === null) return { name: 'all', conditions: [] };
  const value = { mine: ownId, assigned: userId, visitor: visitorId }[view as string];
  return { name: view, conditions: [value === undefined ? { text: condition } : { text: condition, value }] };
}

/** The number of conversations in each view of a member, and the number with unread messages. */
export async function countViews(
  tx: Transaction,
  tenantId: string,
  userId: string,
): Promise<Record<InboxView | 'unread', number>> {
  // Open and pending conversations are counted with partial indexes. Most conversations are resolved or closed, so
  // their counts are maintained.
  const [work, done] = await Promise.all([
    tx.query<Record<'mine' | 'unassigned' | 'open' | 'pending' | 'snoozed' | 'work' | 'unread', number>>(
      'count_inbox_work',
      `SELECT count(*) FILTER (WHERE c.assigned_user_id = $2 AND ${isNotSnoozed})::int AS mine, count(*) FILTER (WHERE c.assigned_user_id IS NULL AND ${isNotSnoozed} AND ${isListed})::int AS unassigned,
         count(*) FILTER (WHERE c.status = 'open' AND ${isNotSnoozed} AND ${isListed})::int AS open, count(*) FILTER (WHERE c.status = 'pending' AND ${isNotSnoozed})::int AS pending,
         count(*) FILTER (WHERE NOT ${isNotSnoozed})::int AS snoozed, count(*)::int AS work, count(*) FILTER (WHERE c.unread_count > 0)::int AS unread
       FROM chat_conversations c WHERE c.tenant_id = $1 AND ${isActive}`,
      [tenantId, userId],
    ),
    tx.query<{ kind: string; count: number }>(
      'count_inbox_done',
      'SELECT kind, sum(count)::int AS count FROM chat_done_counts WHERE tenant_id = $1 GROUP BY kind',
      [tenantId],
    ),
  ]);
  const [counts] = work.rows;
  if (counts === undefined) throw new Error('counting the inbox returned no row');
  const { work: activeCount, unread, ...views } = counts;
  const of = (kind: string) => done.rows.find((row) => row.kind === kind)?.count ?? 0;
  const [resolved, closed] = [of('resolved'), of('closed')];
  return { ...views, resolved, closed, all: activeCount + resolved + closed, unread: unread + of('unread') };
}
