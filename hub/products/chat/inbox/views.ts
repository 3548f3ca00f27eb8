import type { z } from 'zod';
import type { InboxView, ListedView } from '../../../../shared/contract/chat/agent-shapes.ts';
import type { inbox as resource } from '../../../../shared/contract/chat/inbox.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { ConversationFilter } from '../conversations/index.ts';
import { inboxColumns, inboxJoins, presentInboxConversation } from './rows.ts';

const isAwake = '(c.snoozed_until IS NULL OR c.snoozed_until <= now())';
const isAtWork = `c.status IN ('open', 'pending')`;

/** Of a conversation that an agent has, or that needs one. */
const isListed = `(c.assigned_user_id IS NOT NULL OR c.has_begun)`;

/** What each view holds, of a conversation `c`; `?` is whose it is. */
const viewConditions: Record<ListedView, string | null> = {
  all: null,
  mine: `${isAtWork} AND c.assigned_user_id = ? AND ${isAwake}`,
  unassigned: `${isAtWork} AND c.assigned_user_id IS NULL AND ${isAwake} AND ${isListed}`,
  open: `c.status = 'open' AND ${isAwake} AND ${isListed}`,
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
  // What is at work is counted as it stands, in the indexes of that alone; of what is done, of which there is most, the sums are kept.
  const [work, done] = await Promise.all([
    tx.query<Record<'mine' | 'unassigned' | 'open' | 'pending' | 'snoozed' | 'work' | 'unread', number>>(
      'count_inbox_work',
      `SELECT count(*) FILTER (WHERE c.assigned_user_id = $2 AND ${isAwake})::int AS mine, count(*) FILTER (WHERE c.assigned_user_id IS NULL AND ${isAwake} AND ${isListed})::int AS unassigned,
         count(*) FILTER (WHERE c.status = 'open' AND ${isAwake} AND ${isListed})::int AS open, count(*) FILTER (WHERE c.status = 'pending' AND ${isAwake})::int AS pending,
         count(*) FILTER (WHERE NOT ${isAwake})::int AS snoozed, count(*)::int AS work, count(*) FILTER (WHERE c.unread_count > 0)::int AS unread
       FROM chat_conversations c WHERE c.tenant_id = $1 AND ${isAtWork}`,
      [tenantId, userId],
    ),
    tx.query<{ kind: string; count: number }>(
      'count_inbox_done',
      'SELECT kind, sum(count)::int AS count FROM chat_done_counts WHERE tenant_id = $1 GROUP BY kind',
      [tenantId],
    ),
  ]);
  const [counts] = work.rows;
  if (counts === undefined) throw new Error('nothing was counted');
  const { work: atWork, unread, ...views } = counts;
  const of = (kind: string) => done.rows.find((row) => row.kind === kind)?.count ?? 0;
  const [resolved, closed] = [of('resolved'), of('closed')];
  return { ...views, resolved, closed, all: atWork + resolved + closed, unread: unread + of('unread') };
}
