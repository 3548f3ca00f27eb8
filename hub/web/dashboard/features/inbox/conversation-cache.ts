import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import type { InboxConversation } from '../../../../../shared/client/operations.ts';
import { keyOf } from '../../app/api.ts';
import type { Answer } from '../../app/api.ts';

type ListPage = Answer<'listInboxConversations'>;
type Detail = Answer<'getInboxConversation'>;
interface ListInput {
  query?: { view?: string; userId?: string; visitorId?: string };
}

/** Whether a view contains a conversation. Null if only the hub knows. */
export function isInView(
  conversation: InboxConversation,
  { view = 'all', userId, visitorId }: NonNullable<ListInput['query']>,
  ownId: string,
): boolean | null {
  const { status, assignedUserId, snoozedUntil, lastMessage } = conversation;
  const isSnoozed = snoozedUntil !== null && Date.parse(snoozedUntil) > Date.now();
  const isActive = status === 'open' || status === 'pending';
  // A conversation appears when a person writes. Which earlier messages it has is not known here.
  const writer = lastMessage?.senderType;
  const isListed = assignedUserId !== null || writer === 'visitor' || writer === 'agent' ? true : null;
  switch (view) {
    case 'mine':
      return isActive && !isSnoozed && assignedUserId === ownId;
    case 'assigned':
      return isActive && !isSnoozed && assignedUserId === userId;
    case 'unassigned':
      return isActive && !isSnoozed && assignedUserId === null && isListed;
    case 'open':
      return status === 'open' && !isSnoozed && isListed;
    case 'pending':
      return status === 'pending' && !isSnoozed;
    case 'snoozed':
      return isActive && isSnoozed;
    case 'resolved':
    case 'closed':
      return status === view;
    case 'unread':
      return conversation.unreadCount > 0;
    case 'visitor':
      return conversation.visitorId === visitorId;
    default:
      return true;
  }
}

const orderOf = ({ lastMessageAt, createdAt }: InboxConversation) => lastMessageAt ?? createdAt;

/** The rows of a list after a conversation changed. A row that sorts below the loaded ones is left out. */
function patchRows(
  { pages, pageParams }: InfiniteData<ListPage>,
  conversation: InboxConversation,
  isContained: boolean | null,
): InfiniteData<ListPage> {
  const rows = pages.flatMap(({ data }) => data);
  const wasContained = rows.some(({ id }) => id === conversation.id);
  const others = rows.filter(({ id }) => id !== conversation.id);
  const isShown = isContained ?? wasContained;
  const foundAt = others.findIndex((row) => orderOf(row) < orderOf(conversation));
  const hasMore = pages.at(-1)?.meta.nextCursor !== null;
  const at = foundAt === -1 && (!hasMore || wasContained) ? others.length : foundAt;
  const changed = isShown && at !== -1 ? others.toSpliced(at, 0, conversation) : others;
  // Later pages continue from their cursor, however the rows are divided.
  return { pageParams, pages: pages.map((page, index) => ({ ...page, data: index === 0 ? changed : [] })) };
}

/** Shows a conversation, as the hub sent it, everywhere on the page. */
export function patchConversation(
  cache: QueryClient,
  tenantId: string,
  conversation: InboxConversation,
  ownId: string,
): void {
  const key = keyOf('getInboxConversation', { params: { tenantId, id: conversation.id } });
  const known = cache.getQueryData<Detail>(key);
  // A slow response must not undo what a newer frame has shown.
  if (known !== undefined && known.updatedAt > conversation.updatedAt) return;
  if (known !== undefined) cache.setQueryData<Detail>(key, { ...known, ...conversation });
  for (const [listKey, list] of cache.getQueriesData<InfiniteData<ListPage>>({
    queryKey: ['listInboxConversations'],
  })) {
    if (list?.pages === undefined) continue;
    const filter = (listKey[1] as ListInput).query ?? {};
    cache.setQueryData(listKey, patchRows(list, conversation, isInView(conversation, filter, ownId)));
  }
  cache.setQueriesData<Answer<'getInboxVisitor'>>({ queryKey: ['getInboxVisitor'] }, (visitor) =>
    visitor === undefined
      ? visitor
      : {
          ...visitor,
          conversations: visitor.conversations.map((other) => (other.id === conversation.id ? conversation : other)),
        },
  );
}

/** Changes some fields of a conversation everywhere on the page. */
export function patchFields(
  cache: QueryClient,
  tenantId: string,
  id: string,
  change: (conversation: InboxConversation) => Partial<InboxConversation>,
): void {
  cache.setQueryData<Detail>(keyOf('getInboxConversation', { params: { tenantId, id } }), (detail) =>
    detail === undefined ? detail : { ...detail, ...change(detail) },
  );
  cache.setQueriesData<InfiniteData<ListPage>>({ queryKey: ['listInboxConversations'] }, (list) =>
    list?.pages === undefined
      ? list
      : {
          ...list,
          pages: list.pages.map((page) => ({
            ...page,
            data: page.data.map((row) => (row.id === id ? { ...row, ...change(row) } : row)),
          })),
        },
  );
}

/** Removes an erased conversation from the lists. */
export function removeConversation(cache: QueryClient, id: string): void {
  cache.setQueriesData<InfiniteData<ListPage>>({ queryKey: ['listInboxConversations'] }, (list) =>
    list?.pages === undefined
      ? list
      : { ...list, pages: list.pages.map((page) => ({ ...page, data: page.data.filter((row) => row.id !== id) })) },
  );
}

/** Whether a list or the open conversation shows an older state than the hub has. */
export function isOutdated(
  cache: QueryClient,
  tenantId: string,
  { id, updatedAt }: { id: string; updatedAt: string },
): boolean {
  const detail = cache.getQueryData<Detail>(keyOf('getInboxConversation', { params: { tenantId, id } }));
  if (detail !== undefined && detail.updatedAt < updatedAt) return true;
  const lists = cache.getQueriesData<InfiniteData<ListPage>>({ queryKey: ['listInboxConversations'] });
  const rows = lists.flatMap(([, list]) => list?.pages.flatMap(({ data }) => data) ?? []);
  const row = rows.find((each) => each.id === id);
  return row === undefined || row.updatedAt < updatedAt;
}
