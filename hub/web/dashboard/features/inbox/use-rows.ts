import { useInfiniteQuery } from '@tanstack/react-query';
import { pagedQuery } from '../../app/api.ts';
import { useTenantId } from '../../app/session.tsx';
import type { InboxSearch } from './inbox-search.ts';

const pageSize = 50;
/** All pages stay: rows that leave at the top could not be read again. Only visible rows are elements. */
const allPages = 0;

/** The conversations of the view that the address names. */
export function useConversations({ view = 'open', member, q }: InboxSearch) {
  const tenantId = useTenantId();
  const filter = member === undefined ? { view } : { view: 'assigned' as const, userId: member };
  const list = useInfiniteQuery({
    ...pagedQuery('listInboxConversations', { params: { tenantId }, query: { ...filter, limit: pageSize } }, allPages),
    enabled: q === undefined,
    // The live connection keeps it current, and each page costs a request.
    refetchOnWindowFocus: false,
  });
  return { list, rows: list.data?.pages.flatMap(({ data }) => data) ?? [] };
}

/** Messages and notes that contain the words of the search. */
export function useHits({ q }: InboxSearch) {
  const tenantId = useTenantId();
  const text = q?.trim() ?? '';
  const hits = useInfiniteQuery({
    ...pagedQuery('searchInbox', { params: { tenantId }, query: { q: text, limit: 30 } }),
    enabled: text !== '',
  });
  return { hits, found: hits.data?.pages.flatMap(({ data }) => data) ?? [] };
}
