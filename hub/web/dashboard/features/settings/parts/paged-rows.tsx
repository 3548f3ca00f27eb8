import { useQueryClient } from '@tanstack/react-query';
import type { InfiniteData } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { background } from '../../../../../../shared/web/background.ts';
import type { OperationId } from '../../../app/api.ts';
import { useWords } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote, LoadError } from '../../../ui/error.tsx';
import { Card } from '../../../ui/layout.tsx';
import { Loading } from '../../../ui/loaded.tsx';

interface PagedList<Item> {
  data: InfiniteData<{ data: Item[] }> | undefined;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: Error | null;
  refetch: () => Promise<unknown>;
  fetchNextPage: () => Promise<unknown>;
}

/** Loads the next page. Only the last pages stay in memory, so a long list also leads back to its start. */
function MoreRows({ list, operation }: { list: PagedList<unknown>; operation: OperationId }) {
  const { common, settings } = useWords();
  const cache = useQueryClient();
  const isCut = list.data !== undefined && list.data.pageParams[0] !== null;
  if (!list.hasNextPage && !isCut) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t px-3.5 py-2.5">
      {list.hasNextPage && (
        <Button size="small" isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
          {common.more}
        </Button>
      )}
      {isCut && (
        <Button size="small" onClick={() => background(cache.resetQueries({ queryKey: [operation] }))}>
          {settings.toNewest}
        </Button>
      )}
      {list.isFetchNextPageError && <ErrorNote error={list.error} />}
    </div>
  );
}

/** A list in a card, read page by page. */
export function PagedRows<Item>({
  list,
  operation,
  empty,
  children,
}: {
  list: PagedList<Item>;
  operation: OperationId;
  /** Why there are no rows, and the next step. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}) {
  const items = list.data?.pages.flatMap(({ data }) => data);
  return (
    <Card>
      {items !== undefined ? (
        items.length === 0 ? (
          empty
        ) : (
          children(items)
        )
      ) : list.error !== null ? (
        <LoadError error={list.error} onRetry={list.refetch} />
      ) : (
        <Loading />
      )}
      <MoreRows list={list} operation={operation} />
    </Card>
  );
}
