import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { StickyNote } from 'lucide-react';
import { Fragment } from 'react';
import type { InboxHit } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { readableText } from './message-text.tsx';
import { opening, useInboxAddress } from './use-inbox-address.ts';

/** Characters before the first match that a result shows. */
const contextBefore = 40;
const shownCharacters = 240;

/** A part of a message around its matches, which are marked. */
function Excerpt({ content, highlights }: { content: string; highlights: InboxHit['highlights'] }) {
  const from = Math.max(0, (highlights[0]?.start ?? 0) - contextBefore);
  const to = from + shownCharacters;
  const shown = highlights.filter(({ start, end }) => start >= from && end <= to);
  return (
    <>
      {from > 0 && '…'}
      {shown.map(({ start, end }, index) => (
        <Fragment key={start}>
          {readableText(content.slice(shown[index - 1]?.end ?? from, start))}
          <mark className="rounded-xs bg-warning-muted text-text">{readableText(content.slice(start, end))}</mark>
        </Fragment>
      ))}
      {readableText(content.slice(shown.at(-1)?.end ?? from, to))}
    </>
  );
}

/** Messages and notes that the search found. */
export function SearchResults({
  hits,
  found,
  selected,
}: {
  hits: UseInfiniteQueryResult;
  found: readonly InboxHit[];
  selected: number;
}) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const { search } = useInboxAddress();
  return (
    <div className="min-h-0 grow overflow-y-auto" tabIndex={-1}>
      <Loaded of={hits}>
        {() =>
          found.length === 0 ? (
            <Empty title={inbox.nothingFound}>
              <p>{inbox.nothingFoundText}</p>
            </Empty>
          ) : (
            <ul aria-label={inbox.searchResults}>
              {found.map(({ message, conversationName, highlights }, index) => (
                <li key={message.id} className="border-b">
                  <Link
                    to="/inbox"
                    search={{ ...search, ...opening(message.conversationId, message.position) }}
                    aria-current={index === selected ? 'true' : undefined}
                    preload={false}
                    className={`flex flex-col gap-0.5 px-4 py-2.5 text-text no-underline -outline-offset-2! ${index === selected ? 'bg-accent-muted' : 'hover:bg-hover'}`}
                  >
                    <span className="flex items-baseline gap-2">
                      <bdi className="min-w-0 truncate font-semibold">{visibleLine(conversationName)}</bdi>
                      {message.private && <StickyNote size={13} aria-label={inbox.note} className="shrink-0" />}
                      <span className="ms-auto text-xs whitespace-nowrap text-text-muted">
                        <LocalTime at={message.createdAt} />
                      </span>
                    </span>
                    <span dir="auto" className="line-clamp-3 text-start wrap-anywhere text-text-muted">
                      <Excerpt content={message.content} highlights={highlights} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {hits.hasNextPage && (
        <div className="p-3 text-center">
          <Button isBusy={hits.isFetchingNextPage} onClick={() => background(hits.fetchNextPage())}>
            {common.more}
          </Button>
        </div>
      )}
    </div>
  );
}
