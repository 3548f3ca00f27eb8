import { Link } from '@tanstack/react-router';
import type { InboxConversation } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useNow } from '../../app/now.ts';
import { useStore } from '../../app/use-store.ts';
import { Pill } from '../../ui/status.tsx';
import { useInboxLive } from './live.tsx';
import { readableText } from './message-text.tsx';
import { usePeople, useVisitorName } from './people.ts';
import { opening, useInboxAddress } from './use-inbox-address.ts';

/** All rows have this height, in pixels. */
export const rowHeight = 84;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The time since a moment in one unit, such as "4 min"; "now" within a minute. */
export function useAge(): (at: string) => string {
  const { duration, words } = useLanguage();
  const now = useNow();
  return (at) => {
    const ms = now - Date.parse(at);
    const unit = [dayMs, hourMs, minuteMs].find((each) => ms >= each);
    return unit === undefined ? words.inbox.now : duration(ms - (ms % unit));
  };
}

/** What a row says about the state of its conversation: at most one thing, the most urgent one. */
function RowState({ conversation }: { conversation: InboxConversation }) {
  const { words, format } = useLanguage();
  const { inbox, common } = words;
  const ageOf = useAge();
  const now = useNow();
  const { status, priority, unreadCount, lastMessage, snoozedUntil } = conversation;
  if (snoozedUntil !== null && Date.parse(snoozedUntil) > Date.now())
    return <Pill tone="neutral">{common.status.snoozed}</Pill>;
  if (status === 'resolved') return <Pill tone="success">{common.status.resolved}</Pill>;
  if (status === 'closed') return <Pill tone="neutral">{common.status.closed}</Pill>;
  if (lastMessage?.senderType === 'visitor') {
    const isNew = now - Date.parse(lastMessage.createdAt) < minuteMs;
    return (
      <Pill tone={priority === 'urgent' ? 'danger' : 'warning'}>
        {isNew
          ? unreadCount > 0
            ? format(inbox.unreadCount, { count: unreadCount })
            : inbox.waitsNow
          : format(inbox.waits, { time: ageOf(lastMessage.createdAt) })}
      </Pill>
    );
  }
  if (status === 'pending') return <Pill tone="warning">{common.status.pending}</Pill>;
  return null;
}

/** A conversation in a list. */
export function ConversationRow({ conversation, isOpen }: { conversation: InboxConversation; isOpen: boolean }) {
  const { words } = useLanguage();
  const { inbox } = words;
  const { search } = useInboxAddress();
  const live = useInboxLive();
  const hasDraft = useStore(live.drafts.written).ids.has(conversation.id);
  const isTyping = (useStore(live.store).typers[conversation.id] ?? []).some(({ who }) => who === 'visitor');
  const nameOf = useVisitorName();
  const { ownerOf } = usePeople();
  const ageOf = useAge();
  const { lastMessage, lastMessageAt, createdAt, unreadCount, priority, environment } = conversation;
  const preview = lastMessage === null ? '' : readableText(lastMessage.content.replaceAll(/\s+/g, ' '));
  return (
    <Link
      to="/inbox"
      search={{ ...search, ...opening(conversation.id) }}
      replace={search.conversation !== undefined}
      preload={false}
      aria-current={isOpen ? 'true' : undefined}
      className={`flex h-full flex-col justify-center gap-0.5 px-4 text-text no-underline -outline-offset-2! ${isOpen ? 'bg-accent-muted' : 'hover:bg-hover'}`}
    >
      <span className="flex items-baseline gap-2">
        {unreadCount > 0 && (
          <span
            role="img"
            aria-label={words.inbox.views.unread}
            className="size-2 shrink-0 self-center rounded-full bg-accent"
          />
        )}
        <bdi className={`min-w-0 truncate ${unreadCount > 0 ? 'font-bold' : 'font-semibold'}`}>
          {nameOf(conversation)}
        </bdi>
        {environment === 'test' && <span className="text-xs text-text-muted">{words.common.test}</span>}
        {(priority === 'high' || priority === 'urgent') && (
          <span className="text-xs font-semibold text-danger">{inbox.priorities[priority]}</span>
        )}
        <span className="ms-auto text-xs whitespace-nowrap text-text-muted">{ageOf(lastMessageAt ?? createdAt)}</span>
      </span>
      <span dir="auto" className="truncate text-start text-text-muted">
        {isTyping ? (
          <em>{inbox.typingShort}</em>
        ) : (
          <>
            {lastMessage?.senderType === 'agent' && `${inbox.replyPrefix} `}
            {preview === '' ? inbox.noText : preview}
          </>
        )}
      </span>
      <span className="flex min-h-6 items-center gap-2 text-xs">
        <span className="min-w-0 truncate text-text-muted">{visibleLine(ownerOf(conversation))}</span>
        {hasDraft && <span className="text-accent">{inbox.draft}</span>}
        <span className="ms-auto">
          <RowState conversation={conversation} />
        </span>
      </span>
    </Link>
  );
}
