import { useQuery } from '@tanstack/react-query';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleHelp, MessageSquarePlus, Search } from 'lucide-react';
import type { RefObject } from 'react';
import { useEffect, useState } from 'react';
import { keyOf, query, useAction } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { useStore } from '../../app/use-store.ts';
import { IconButton } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import type { InboxView } from './inbox-search.ts';
import { isComposing } from './key-rule.ts';
import { useInboxLive } from './live.tsx';
import { usePeople } from './people.ts';
import { useInboxAddress } from './use-inbox-address.ts';

const tabs = ['mine', 'unassigned', 'open', 'unread'] as const satisfies InboxView[];
const further = ['pending', 'snoozed', 'resolved', 'closed', 'all'] as const satisfies InboxView[];

/** Whether the hub assigns new conversations to the agent. */
function Presence() {
  const { words } = useLanguage();
  const { inbox } = words;
  const tenantId = useTenantId();
  const cache = useQueryClient();
  const { own } = usePeople();
  const { isConnected } = useStore(useInboxLive().store);
  const action = useAction('setChatPresence', {
    onDone: () => cache.invalidateQueries({ queryKey: keyOf('listChatAgents', { params: { tenantId } }) }),
  });
  if (own === undefined) return null;
  // The page itself is a live connection, so a member who looks at it is not offline.
  const presence = own.presence === 'away' ? 'away' : 'online';
  const dot = !isConnected ? 'bg-text-muted' : presence === 'away' ? 'bg-warning' : 'bg-success-indicator';
  return (
    <span className="flex items-center gap-1.5">
      <span aria-hidden className={`size-2 rounded-full ${dot}`} />
      <span role="status" className="sr-only">
        {isConnected ? '' : inbox.notConnected}
      </span>
      <select
        aria-label={inbox.presence}
        title={inbox.presenceText}
        value={isConnected ? presence : ''}
        disabled={action.isPending}
        aria-disabled={!isConnected}
        onChange={(event) => {
          if (!isConnected) return;
          action.start({ params: { tenantId }, body: { presence: event.target.value as 'online' | 'away' } });
        }}
        className="bg-transparent text-sm text-text-muted"
      >
        {!isConnected && (
          <option value="" className="bg-surface text-text">
            {inbox.notConnected}
          </option>
        )}
        {(['online', 'away'] as const).map((name) => (
          <option key={name} value={name} className="bg-surface text-text">
            {inbox.presences[name]}
          </option>
        ))}
      </select>
      <ErrorNote error={action.error} />
    </span>
  );
}

const pill =
  'inline-flex items-center gap-1.5 rounded-full px-2.5 py-0.5 text-sm font-semibold whitespace-nowrap no-underline';

/** Views with their counts. */
function Views() {
  const { words, number } = useLanguage();
  const { inbox } = words;
  const tenantId = useTenantId();
  const { search, go } = useInboxAddress();
  const { agents, nameOf, ownId } = usePeople();
  const { data: counts } = useQuery(query('countInboxConversations', { params: { tenantId } }));
  const view = search.view ?? 'open';
  const selected = search.member === undefined ? view : `member ${search.member}`;
  const isFurther = !tabs.some((name) => name === selected);
  const labelOf = (name: InboxView) =>
    counts === undefined ? inbox.views[name] : `${inbox.views[name]} (${number(counts[name])})`;
  return (
    <nav aria-label={inbox.viewsLabel} className="flex flex-wrap items-center gap-1">
      {tabs.map((name) => {
        const isSelected = name === selected && search.q === undefined;
        return (
          <Link
            key={name}
            to="/inbox"
            search={name === 'open' ? {} : { view: name }}
            aria-current={isSelected ? 'page' : undefined}
            className={`${pill} ${isSelected ? 'bg-accent-muted text-accent' : 'text-text-muted hover:bg-hover'}`}
          >
            {inbox.views[name]}
            {counts !== undefined && counts[name] > 0 && <span>{number(counts[name])}</span>}
          </Link>
        );
      })}
      <select
        aria-label={inbox.moreViews}
        value={isFurther ? selected : ''}
        onChange={({ target: { value } }) => {
          if (value === '') return;
          const [kind, id] = value.split(' ') as [InboxView | 'member', string | undefined];
          const none = { view: undefined, member: undefined, q: undefined };
          go(kind === 'member' ? { ...none, member: id } : { ...none, view: kind });
        }}
        className={`max-w-44 rounded-full px-1.5 py-0.5 text-sm font-semibold ${isFurther && search.q === undefined ? 'bg-accent-muted text-accent' : 'bg-transparent text-text-muted'}`}
      >
        <option value="" className="bg-surface text-text">
          {inbox.more}
        </option>
        {further.map((name) => (
          <option key={name} value={name} className="bg-surface text-text">
            {labelOf(name)}
          </option>
        ))}
        <optgroup label={inbox.assignedTo} className="bg-surface text-text">
          {agents
            .filter(({ userId }) => userId !== ownId)
            .map(({ userId, openConversations }) => (
              <option key={userId} value={`member ${userId}`}>
                {`${nameOf(userId)} (${number(openConversations)})`}
              </option>
            ))}
        </optgroup>
      </select>
    </nav>
  );
}

const searchAfterMs = 250;

/** Opens results with the arrow keys and Enter, while the focus stays in the field until Enter. */
function SearchField({
  field,
  onMove,
  onEnter,
}: {
  field: RefObject<HTMLInputElement | null>;
  onMove: (step: 1 | -1) => void;
  onEnter: () => void;
}) {
  const { inbox } = useLanguage().words;
  const { search, go } = useInboxAddress();
  const [text, setText] = useState(search.q ?? '');
  // While the agent types, the address follows the field and not the other way round.
  useEffect(() => {
    if (document.activeElement !== field.current) setText(search.q ?? '');
  }, [field, search.q]);
  useEffect(() => {
    const trimmed = text.trim();
    if (trimmed === (search.q ?? '').trim()) return;
    const timer = setTimeout(
      () => go({ q: trimmed === '' ? undefined : trimmed }, search.q !== undefined),
      searchAfterMs,
    );
    return () => clearTimeout(timer);
    // Only typing starts a search.
  }, [text]);
  return (
    <label className="flex items-center gap-2 rounded-(--radius-medium) border border-border-control bg-input px-2.5 focus-within:outline-2 focus-within:outline-offset-1 focus-within:outline-focus">
      <Search size={15} aria-hidden className="shrink-0 text-text-muted" />
      <span className="sr-only">{inbox.searchLabel}</span>
      <input
        ref={field}
        type="search"
        placeholder={inbox.searchPlaceholder}
        value={text}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          if (event.key === 'Escape') {
            setText('');
            event.currentTarget.blur();
          } else if (search.q !== undefined && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
            event.preventDefault();
            onMove(event.key === 'ArrowDown' ? 1 : -1);
          } else if (search.q !== undefined && event.key === 'Enter') {
            onEnter();
            event.currentTarget.blur();
          }
        }}
        className="w-full min-w-0 bg-transparent py-1 outline-none"
      />
      <kbd aria-hidden className="text-xs text-text-muted">
        /
      </kbd>
    </label>
  );
}

/** Above the list: presence, search, views. */
export function ListHeader({
  searchField,
  onHelp,
  onStart,
  onMove,
  onEnter,
}: {
  searchField: RefObject<HTMLInputElement | null>;
  onHelp: () => void;
  onStart: () => void;
  /** Opens the next or previous result of the search. */
  onMove: (step: 1 | -1) => void;
  /** Opens the first result unless one is open. */
  onEnter: () => void;
}) {
  const { words } = useLanguage();
  const { inbox, common } = words;
  return (
    <div className="flex flex-col gap-2 border-b px-3 pt-2 pb-2">
      <div className="flex items-center gap-1">
        <span aria-hidden className="me-2 text-lg font-semibold">
          {common.inbox}
        </span>
        <Presence />
        <span className="ms-auto flex">
          <IconButton label={inbox.newConversation} onClick={onStart}>
            <MessageSquarePlus size={17} aria-hidden />
          </IconButton>
          <IconButton label={inbox.shortcuts} onClick={onHelp}>
            <CircleHelp size={17} aria-hidden />
          </IconButton>
        </span>
      </div>
      <SearchField field={searchField} onMove={onMove} onEnter={onEnter} />
      <Views />
    </div>
  );
}
