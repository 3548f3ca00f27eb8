import { useInfiniteQuery } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import type { InboxVisitor } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Input } from '../../ui/form.tsx';
import { Empty } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { RelativeTime } from '../../ui/time.tsx';
import { isComposing } from './key-rule.ts';
import { StartForm } from './start-form.tsx';

/** Chooses a visitor who wrote before, and writes to them first. */
export function StartDialog({
  onClose,
  onStarted,
}: {
  onClose: () => void;
  onStarted: (conversationId: string) => void;
}) {
  const { words, format } = useLanguage();
  const { inbox, common } = words;
  const tenantId = useTenantId();
  const [visitor, setVisitor] = useState<InboxVisitor | null>(null);
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const [isEntered, setEntered] = useState(false);
  const q = useDeferredValue(text.trim());
  const list = useInfiniteQuery({
    ...pagedQuery('listInboxVisitors', {
      params: { tenantId },
      query: { limit: 20, blocked: 'false', ...(q === '' ? {} : { q }) },
    }),
    placeholderData: (previous) => previous,
  });
  const visitors = list.data?.pages.flatMap(({ data }) => data) ?? [];
  // Enter waits for the visitors found by the text in the field.
  const isCurrent = list.data !== undefined && !list.isPlaceholderData && q === text.trim();
  if (isEntered && isCurrent) {
    setEntered(false);
    setVisitor(visitors[selected] ?? null);
  }
  const nameOf = ({ display_name: name, email, external_id: externalId }: InboxVisitor) =>
    visibleLine(name ?? email ?? externalId ?? inbox.anonymous);
  if (visitor !== null)
    return (
      <Dialog title={format(inbox.writeTo, { name: nameOf(visitor) })} onClose={onClose}>
        <StartForm visitorId={visitor.id} onClose={onClose} onStarted={onStarted} />
      </Dialog>
    );
  return (
    <Dialog title={inbox.newConversation} onClose={onClose}>
      <p className="mb-2 text-text-muted">{inbox.chooseVisitor}</p>
      <Input
        type="search"
        role="combobox"
        aria-label={inbox.findVisitor}
        aria-expanded={visitors.length > 0}
        aria-controls="visitors"
        aria-activedescendant={visitors.length > 0 ? `visitor-${selected}` : undefined}
        placeholder={inbox.findVisitor}
        autoFocus
        value={text}
        maxLength={200}
        onChange={(event) => {
          setEntered(false);
          setText(event.target.value);
          setSelected(0);
        }}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setSelected((index) => Math.max(0, Math.min(visitors.length - 1, index + step)));
          }
          if (event.key === 'Enter') {
            // The key must not begin a line in the message.
            event.preventDefault();
            setEntered(true);
          }
        }}
      />
      <Loaded of={list}>
        {() =>
          visitors.length === 0 ? (
            <Empty title={q === '' ? inbox.noVisitors : inbox.noVisitorFound}>
              {q === '' && <p>{inbox.emptyInboxText}</p>}
            </Empty>
          ) : (
            <ul id="visitors" role="listbox" aria-label={inbox.chooseVisitor} className="mt-2 max-h-96 overflow-y-auto">
              {visitors.map((each, index) => (
                <li
                  key={each.id}
                  id={`visitor-${index}`}
                  role="option"
                  aria-selected={index === selected}
                  ref={(item) => (index === selected ? item?.scrollIntoView({ block: 'nearest' }) : undefined)}
                  className="flex cursor-pointer items-baseline gap-2 rounded-(--radius-medium) px-2.5 py-1.5 hover:bg-hover aria-selected:bg-accent-muted"
                  onClick={() => setVisitor(each)}
                  // The keyboard works on the field above.
                  onKeyDown={() => undefined}
                >
                  <bdi className="min-w-0 truncate">{nameOf(each)}</bdi>
                  {each.verified && <span className="text-sm text-success">{inbox.verified}</span>}
                  <span className="ms-auto text-sm whitespace-nowrap text-text-muted">
                    <RelativeTime at={each.last_seen_at ?? each.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {list.hasNextPage && (
        <div className="mt-2 text-center">
          <Button isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
            {common.more}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
