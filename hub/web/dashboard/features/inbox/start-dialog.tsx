import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { InboxVisitor } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { RelativeTime } from '../../ui/time.tsx';
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
  const list = useInfiniteQuery(
    pagedQuery('listInboxVisitors', { params: { tenantId }, query: { limit: 20, blocked: 'false' } }),
  );
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
      <Loaded of={list}>
        {({ pages }) => {
          const visitors = pages.flatMap(({ data }) => data);
          return visitors.length === 0 ? (
            <Empty title={inbox.noVisitors}>
              <p>{inbox.emptyInboxText}</p>
            </Empty>
          ) : (
            <ul className="max-h-96 overflow-y-auto">
              {visitors.map((each) => (
                <li key={each.id}>
                  <button
                    type="button"
                    onClick={() => setVisitor(each)}
                    className="flex w-full items-baseline gap-2 rounded-(--radius-medium) px-2.5 py-1.5 text-start hover:bg-hover"
                  >
                    <bdi className="min-w-0 truncate">{nameOf(each)}</bdi>
                    {each.verified && <span className="text-sm text-success">{inbox.verified}</span>}
                    <span className="ms-auto text-sm whitespace-nowrap text-text-muted">
                      <RelativeTime at={each.last_seen_at ?? each.created_at} />
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          );
        }}
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
