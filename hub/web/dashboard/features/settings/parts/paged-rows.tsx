import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { InfiniteData, QueryKey, UseInfiniteQueryOptions } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Card } from '../../../ui/layout.tsx';
import { Loaded } from '../../../ui/loaded.tsx';
import { MoreRows } from './more-rows.tsx';

interface Page<Item> {
  data: Item[];
  meta: { nextCursor: string | null };
}

/** A list in a card, read page by page. */
export function PagedRows<Item, Key extends QueryKey>({
  list: options,
  empty,
  children,
}: {
  list: UseInfiniteQueryOptions<Page<Item>, Error, InfiniteData<Page<Item>, string | null>, Key, string | null>;
  /** Why there are no rows, and the next step. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}) {
  const cache = useQueryClient();
  const list = useInfiniteQuery(options);
  return (
    <Card>
      <Loaded of={list}>
        {({ pages }) => {
          const items = pages.flatMap(({ data }) => data);
          return items.length === 0 ? empty : children(items);
        }}
      </Loaded>
      <MoreRows list={list} onNewest={() => cache.resetQueries({ queryKey: options.queryKey })} />
    </Card>
  );
}
