import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowLeft, Star } from 'lucide-react';
import type { ReactNode } from 'react';
import type { InboxConversationDetail, InboxVisitorDetail } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { IconButton } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Facts } from '../../ui/layout.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { LocalTime, RelativeTime } from '../../ui/time.tsx';
import { readableText } from './message-text.tsx';
import { useVisitorName } from './people.ts';
import { opening, useInboxAddress } from './use-inbox-address.ts';
import { VisitorActions } from './visitor-actions.tsx';

const maxScore = 5;

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="mt-4">
      <h3 className="mb-1.5">{title}</h3>
      {children}
    </section>
  );
}

/** How the visitor rated the conversation. */
function Rating({ rating }: { rating: NonNullable<InboxConversationDetail['rating']> }) {
  const { words, format } = useLanguage();
  const { score, comment, updatedAt } = rating;
  return (
    <Part title={words.inbox.rating}>
      <p className="flex items-center gap-2">
        <span role="img" aria-label={format(words.inbox.score, { score, max: maxScore })} className="flex">
          {Array.from({ length: maxScore }, (_, index) => (
            <Star
              key={index}
              size={16}
              aria-hidden
              className={index < score ? 'fill-current text-warning' : 'text-border-control'}
            />
          ))}
        </span>
        <span className="text-sm text-text-muted">
          <RelativeTime at={updatedAt} />
        </span>
      </p>
      {comment !== '' && (
        <p dir="auto" className="mt-1 text-start text-sm wrap-anywhere whitespace-pre-wrap">
          {readableText(comment)}
        </p>
      )}
    </Part>
  );
}

const textOf = (value: unknown) => visibleLine(typeof value === 'string' ? value : JSON.stringify(value));

function Details({
  visitor,
  conversation,
  onStarted,
}: {
  visitor: InboxVisitorDetail;
  conversation: InboxConversationDetail;
  onStarted: (conversationId: string) => void;
}) {
  const { words } = useLanguage();
  const { inbox } = words;
  const { search } = useInboxAddress();
  const { email, phone, external_id: externalId, last_address: address, attributes } = visitor;
  const optional = (name: string, value: string | null): readonly [string, ReactNode][] =>
    value === null ? [] : [[name, <bdi key={name}>{visibleLine(value)}</bdi>]];
  const others = visitor.conversations.filter(({ id }) => id !== conversation.id);
  const own = Object.entries(attributes);
  return (
    <>
      <Facts
        rows={[
          ...optional(inbox.email, email),
          ...optional(inbox.phone, phone),
          ...optional(inbox.customer, externalId),
          [inbox.source, visibleLine(conversation.source)],
          ...optional(inbox.address, address),
          ...(visitor.last_seen_at === null
            ? []
            : [[inbox.lastSeen, <RelativeTime key="seen" at={visitor.last_seen_at} />] as const]),
          [inbox.firstSeen, <LocalTime key="first" at={visitor.created_at} />],
        ]}
      />
      {own.length > 0 && (
        <Part title={inbox.attributes}>
          <Facts rows={own.map(([name, value]) => [visibleLine(name), textOf(value)])} />
        </Part>
      )}
      {conversation.rating !== null && <Rating rating={conversation.rating} />}
      <Part title={inbox.otherConversations}>
        {others.length === 0 ? (
          <p className="text-sm text-text-muted">{inbox.noOtherConversations}</p>
        ) : (
          <ul className="flex flex-col gap-1 text-sm">
            {others.map(({ id, name, status, createdAt, lastMessageAt, lastMessage }) => (
              <li key={id} className="flex items-baseline gap-2">
                <Link
                  to="/inbox"
                  search={{ ...search, ...opening(id) }}
                  preload={false}
                  className="min-w-0 truncate text-accent no-underline hover:underline"
                >
                  {lastMessage === null || lastMessage.content === ''
                    ? visibleLine(name)
                    : readableText(lastMessage.content.replaceAll(/\s+/g, ' '))}
                </Link>
                <span className="ms-auto whitespace-nowrap text-text-muted">
                  <LocalTime at={lastMessageAt ?? createdAt} />
                </span>
                <StatusPill status={status} />
              </li>
            ))}
          </ul>
        )}
      </Part>
      <VisitorActions visitor={visitor} conversation={conversation} onStarted={onStarted} />
    </>
  );
}

/** Who the agent talks to. */
export function VisitorPanel({
  conversation,
  isOpen,
  onStarted,
}: {
  conversation: InboxConversationDetail;
  /** Whether small windows show it instead of the messages. */
  isOpen: boolean;
  onStarted: (conversationId: string) => void;
}) {
  const { words } = useLanguage();
  const { inbox } = words;
  const tenantId = useTenantId();
  const { go } = useInboxAddress();
  const nameOf = useVisitorName();
  const { visitorId } = conversation;
  const visitor = useQuery({
    ...query('getInboxVisitor', { params: { tenantId, id: visitorId ?? '' } }),
    enabled: visitorId !== null,
  });
  return (
    <aside
      aria-label={inbox.visitor}
      className={`min-w-0 overflow-y-auto border-s bg-surface px-4 py-3 xl:block xl:w-74 xl:shrink-0 2xl:w-80 ${isOpen ? 'block grow xl:grow-0' : 'hidden'}`}
    >
      <div className="mb-2 flex items-center gap-2">
        <IconButton label={inbox.backToMessages} className="xl:hidden" onClick={() => go({ panel: undefined })}>
          <ArrowLeft size={18} aria-hidden className="rtl:-scale-x-100" />
        </IconButton>
        <h2 className="min-w-0 text-lg wrap-anywhere">
          <bdi>{nameOf(conversation)}</bdi>
        </h2>
      </div>
      <p className="mb-2.5 flex flex-wrap gap-1.5">
        <Pill tone={conversation.visitorVerified ? 'success' : 'neutral'}>
          {conversation.visitorVerified ? inbox.verified : inbox.notVerified}
        </Pill>
        {visitor.data !== undefined && visitor.data.blocked_at !== null && <Pill tone="danger">{inbox.blocked}</Pill>}
      </p>
      {visitor.data !== undefined && (
        <Details visitor={visitor.data} conversation={conversation} onStarted={onStarted} />
      )}
      {visitor.data === undefined && visitor.error !== null && (
        <LoadError error={visitor.error} onRetry={visitor.refetch} />
      )}
    </aside>
  );
}
