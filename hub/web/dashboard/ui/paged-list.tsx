import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { background } from '../../../../shared/web/background.ts';
import { useWords } from '../app/language.tsx';
import { Button } from './button.tsx';
import { ErrorNote } from './error.tsx';
import { Loaded } from './loaded.tsx';

/** The rows of a list that is read page by page, with a button for the next page. */
export function PagedList<Row>({
  of: list,
  empty,
  children,
}: {
  of: UseInfiniteQueryResult<InfiniteData<{ data: Row[] }>>;
  /** Shown instead of the rows when there are none. */
  empty: ReactNode;
  children: (rows: Row[]) => ReactNode;
}) {
  const { more } = useWords().common;
  return (
    <Loaded of={list}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data);
        if (rows.length === 0) return empty;
        return (
          <>
            {children(rows)}
            {list.isFetchNextPageError && <ErrorNote error={list.error} />}
            {list.hasNextPage && (
              <div className="p-3 text-center">
                <Button isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
                  {more}
                </Button>
              </div>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
