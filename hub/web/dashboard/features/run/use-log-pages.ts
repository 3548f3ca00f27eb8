import { useInfiniteQuery } from '@tanstack/react-query';
import { client, keyOf } from '../../app/api.ts';
import type { Answer, Input } from '../../app/api.ts';

type Page = Answer<'listAutomationLogs'>;
type Query = NonNullable<Input<'listAutomationLogs'>['query']>;

/** A page to read: in its direction from a cursor, around a line, or from the first line. */
interface Start {
  order: 'asc' | 'desc';
  cursor?: string;
  around?: string;
}

const pageSize = 100;

/**
 * Lines of a log in pages: with a text, in the order of `order`; otherwise, from the oldest line or around a line on,
 * oldest first. A page can be empty while there are more: the hub examines a limited number of lines for each.
 */
export function useLogPages(filter: Query, { order, around }: { order: 'asc' | 'desc'; around?: string | undefined }) {
  const first: Start = { order, ...(around === undefined ? {} : { around }) };
  const query = { ...filter, ...first, limit: pageSize };
  const result = useInfiniteQuery({
    queryKey: [...keyOf('listAutomationLogs', { query }), 'pages'],
    queryFn: ({ pageParam, signal }) =>
      client.call('listAutomationLogs', { query: { ...filter, ...pageParam, limit: pageSize } }, { signal }),
    initialPageParam: first,
    getNextPageParam: ({ meta }: Page, _pages, last: Start): Start | null =>
      meta.nextCursor === null ? null : { order: last.order, cursor: meta.nextCursor },
    getPreviousPageParam({ data, meta }: Page, _pages, last: Start): Start | null {
      if (around === undefined) return null;
      if (last.order === 'desc') return meta.nextCursor === null ? null : { order: 'desc', cursor: meta.nextCursor };
      // The first page starts before its line. The page before it overlaps with it.
      const [line] = data;
      return line === undefined ? null : { order: 'desc', around: line.id };
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  const pages = result.data?.pages ?? [];
  const params = (result.data?.pageParams ?? []) as Start[];
  const all = pages.flatMap(({ data }, index) =>
    around !== undefined && params[index]?.order === 'desc' ? data.toReversed() : data,
  );
  const lines = [...new Map(all.map((line) => [line.id, line])).values()];
  if (around !== undefined) lines.sort((one, other) => (one.id < other.id ? -1 : 1));
  return { ...result, lines, pages };
}
