import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import type { InboxConversation } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Empty, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ConversationRow, rowHeight } from './conversation-row.tsx';
import { useInboxAddress } from './use-inbox-address.ts';

/** Rows from the end at which the next page is read. */
const readAhead = 10;

/** The conversations of a view. Only visible rows are elements. */
export function ConversationList({ list, rows }: { list: UseInfiniteQueryResult; rows: readonly InboxConversation[] }) {
  const { words } = useLanguage();
  const { inbox } = words;
  const { search } = useInboxAddress();
  const box = useRef<HTMLDivElement>(null);
  const rowsOnPage = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 6,
  });
  const items = rowsOnPage.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isFetchNextPageError } = list;
  useEffect(() => {
    if (last >= rows.length - readAhead && hasNextPage && !isFetchingNextPage && !isFetchNextPageError)
      background(fetchNextPage());
  }, [last, rows.length, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage]);
  // The keyboard moves through the list, so the open row stays visible.
  const selected = rows.findIndex(({ id }) => id === search.conversation);
  const isSelectedLoaded = selected !== -1;
  useEffect(() => {
    if (isSelectedLoaded) rowsOnPage.scrollToIndex(selected, { align: 'auto' });
  }, [search.conversation, isSelectedLoaded]);
  const isSearchable = search.member === undefined && (search.view ?? 'open') !== 'all';
  // These views are empty in a new workspace; others are often empty.
  const showsSetUp = search.member === undefined && ['open', 'all'].includes(search.view ?? 'open');
  return (
    <div ref={box} className="relative min-h-0 grow overflow-y-auto" tabIndex={-1}>
      <Loaded of={list}>
        {() =>
          rows.length === 0 ? (
            <Empty title={inbox.emptyView}>
              <p>{isSearchable ? inbox.emptyViewText : inbox.emptyInboxText}</p>
              {showsSetUp && (
                <p className="mt-2">
                  <TextLink to="/settings/{-$section}" params={{ section: 'chat' }}>
                    {inbox.setUpChat}
                  </TextLink>
                </p>
              )}
            </Empty>
          ) : (
            <ul aria-label={inbox.conversations} className="relative" style={{ height: rowsOnPage.getTotalSize() }}>
              {items.map(({ index, key, start }) => {
                const row = rows[index];
                return (
                  row !== undefined && (
                    <li
                      key={key}
                      className="absolute inset-x-0 border-b"
                      style={{ height: rowHeight, transform: `translateY(${start}px)` }}
                    >
                      <ConversationRow conversation={row} isOpen={row.id === search.conversation} />
                    </li>
                  )
                );
              })}
            </ul>
          )
        }
      </Loaded>
      <ErrorNote error={isFetchNextPageError ? list.error : null} />
    </div>
  );
}
