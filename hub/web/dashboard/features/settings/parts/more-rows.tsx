import type { InfiniteData } from '@tanstack/react-query';
import { background } from '../../../../../../shared/web/background.ts';
import { useLanguage } from '../../../app/language.tsx';
import { Button } from '../../../ui/button.tsx';
import { ErrorNote } from '../../../ui/error.tsx';

interface PagedList {
  data?: InfiniteData<unknown, unknown>;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: Error | null;
  fetchNextPage: () => Promise<unknown>;
}

/** Loads the next page of a list. */
export function MoreRows({ list, onNewest }: { list: PagedList; onNewest: () => Promise<unknown> }) {
  const { common, settings } = useLanguage().words;
  // Only the last pages stay in memory.
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
        <Button size="small" onClick={() => background(onNewest())}>
          {settings.toNewest}
        </Button>
      )}
      {list.isFetchNextPageError && <ErrorNote error={list.error} />}
    </div>
  );
}
