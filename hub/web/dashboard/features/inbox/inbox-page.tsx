import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { liveState } from '../../app/live-events.ts';
import { useSession } from '../../app/session.tsx';
import { useStore } from '../../app/use-store.ts';
import { undoNewest } from '../../ui/toasts.tsx';
import { ConversationList } from './conversation-list.tsx';
import { Conversation } from './conversation.tsx';
import type { ConversationControls } from './conversation.tsx';
import type { DraftKind } from './draft-text.ts';
import { earlyTexts, setEarlyText } from './early-text.tsx';
import { HelpDialog } from './help-dialog.tsx';
import type { InboxSearch } from './inbox-search.ts';
import { ListHeader } from './list-header.tsx';
import { InboxLiveProvider } from './live.tsx';
import { SearchResults } from './search-results.tsx';
import { keyRule, useShortcuts } from './shortcuts.ts';
import { StartDialog } from './start-dialog.tsx';
import { opening, useInboxAddress } from './use-inbox-address.ts';
import { useConversations, useHits } from './use-rows.ts';

/** The tab names how many conversations have unread messages. */
function useTabTitle(): void {
  const { tenantId, workspaceName } = useSession();
  const { words, number } = useLanguage();
  const { data } = useQuery(query('countInboxConversations', { params: { tenantId } }));
  const unread = data?.unread ?? 0;
  useEffect(() => {
    document.title = `${unread === 0 ? '' : `(${number(unread)}) `}${words.common.inbox} · ${visibleLine(workspaceName)}`;
  }, [unread, number, words, workspaceName]);
}

/** Conversations that an agent passes faster than this are not loaded. */
const fastMs = 400;
const settleMs = 200;

/**
 * The conversation to show. An agent who holds a key passes many that need no requests. `isMeant` is whether the agent
 * writes in this one.
 */
function useSettled(id: string | undefined, isMeant: boolean): string | undefined {
  const [settled, setSettled] = useState(id);
  const changedAt = useRef(0);
  useLayoutEffect(() => {
    const isFast = Date.now() - changedAt.current < fastMs;
    changedAt.current = Date.now();
    if (!isFast || isMeant) {
      setSettled(id);
      return;
    }
    const timer = setTimeout(() => setSettled(id), settleMs);
    return () => clearTimeout(timer);
  }, [id, isMeant]);
  return settled;
}

function Inbox() {
  const { words } = useLanguage();
  const { inbox, common } = words;
  const { search, go } = useInboxAddress();
  const router = useRouter();
  const { list, rows } = useConversations(search);
  const { hits, found } = useHits(search);
  const [dialog, setDialog] = useState<'help' | 'start' | null>(null);
  const searchField = useRef<HTMLInputElement>(null);
  const controls = useRef<ConversationControls>(null);
  const isMeant = useStore(earlyTexts).texts[search.conversation ?? ''] !== undefined;
  const settled = useSettled(search.conversation, isMeant);
  const isShown = settled === search.conversation || isMeant;
  // The shell shows one more line then.
  const hasBanner = !useStore(liveState).isConnected;
  useTabTitle();

  const items =
    search.q === undefined
      ? rows.map(({ id }) => ({ id, at: undefined as number | undefined }))
      : found.map(({ message }) => ({ id: message.conversationId, at: message.position as number | undefined }));
  const index = items.findIndex(
    ({ id, at }) => id === search.conversation && (at === undefined || search.at === undefined || at === search.at),
  );
  const readAhead = search.q === undefined ? list : hits;
  const openItem = (to: number) => {
    if (to >= items.length - 1 && readAhead.hasNextPage && !readAhead.isFetchingNextPage)
      background(readAhead.fetchNextPage());
    const item = items[Math.max(0, Math.min(items.length - 1, to))];
    if (item !== undefined) go(opening(item.id, item.at), search.conversation !== undefined);
  };
  /** After a conversation left the view, the agent continues with the one that follows. */
  const advance = () => {
    const next = items[index + 1] ?? items[index - 1];
    // While the hub worked, the agent may have opened another conversation or page, or have begun to write.
    const isOpen = (router.latestLocation.search as InboxSearch).conversation === search.conversation;
    if (index === -1 || !isOpen || controls.current?.isWriting() === true) return;
    keyRule.noteSurprise(Date.now());
    go(opening(next?.id, next?.at), true);
  };
  const write = (kind: DraftKind) => {
    if (controls.current !== null) controls.current.write(kind);
    else if (search.conversation !== undefined) setEarlyText(search.conversation, { kind, text: '' });
  };

  useShortcuts({
    j: () => openItem(index + 1),
    k: () => openItem(index === -1 ? 0 : index - 1),
    '/': () => searchField.current?.focus(),
    '?': () => setDialog('help'),
    c: () => setDialog('start'),
    e: () => controls.current?.resolve(),
    s: () => controls.current?.show('snooze'),
    a: () => controls.current?.assignToMe(),
    A: () => controls.current?.show('assign'),
    '#': () => controls.current?.show('status'),
    r: () => write('reply'),
    n: () => write('note'),
    u: () => controls.current?.useSuggestion(),
    z: undoNewest,
    Home: () => controls.current?.goToOldest(),
    End: () => controls.current?.goToNewest(),
    Escape: () => go(search.panel === undefined ? opening(undefined) : { panel: undefined }),
  });

  return (
    <div
      className={`-mx-4 -mb-4 flex bg-surface md:-mx-6 md:-mb-4.5 ${
        hasBanner
          ? 'h-[calc(100dvh-8.1rem)] border-t md:h-[calc(100dvh-3.9rem)]'
          : '-mt-4 h-[calc(100dvh-3.1rem)] md:-mt-4.5 md:h-dvh'
      }`}
    >
      <h1 className="sr-only">{common.inbox}</h1>
      <section
        aria-label={inbox.conversations}
        className={`w-full min-w-0 flex-col border-e lg:w-76 lg:shrink-0 ${
          search.conversation === undefined ? 'flex' : `hidden ${search.panel === undefined ? 'lg:flex' : 'xl:flex'}`
        }`}
      >
        <ListHeader
          searchField={searchField}
          onHelp={() => setDialog('help')}
          onStart={() => setDialog('start')}
          onMove={(step) => openItem(index + step)}
          onEnter={() => {
            keyRule.noteDeliberateAct();
            if (index === -1) openItem(0);
          }}
        />
        {search.q === undefined ? (
          <ConversationList list={list} rows={rows} />
        ) : (
          <SearchResults hits={hits} found={found} selected={index} />
        )}
      </section>
      {search.conversation === undefined ? (
        <div className="hidden min-w-0 grow flex-col items-center justify-center gap-1 bg-background p-6 text-center text-text-muted lg:flex">
          <p className="font-semibold text-text">{inbox.chooseConversation}</p>
          <p>{inbox.chooseConversationText}</p>
        </div>
      ) : !isShown ? (
        <div className="min-w-0 grow bg-background" />
      ) : (
        <Conversation
          // Nothing of one conversation may appear in another one.
          key={search.conversation}
          id={search.conversation}
          ref={controls}
          onLeave={advance}
          onStarted={(id) => go({ ...opening(id), q: undefined })}
        />
      )}
      {dialog === 'help' && <HelpDialog onClose={() => setDialog(null)} />}
      {dialog === 'start' && (
        <StartDialog
          onClose={() => setDialog(null)}
          onStarted={(id) => {
            setDialog(null);
            go({ ...opening(id), q: undefined });
          }}
        />
      )}
    </div>
  );
}

/** Conversations with visitors: list, messages, visitor. */
export function InboxPage() {
  return (
    <InboxLiveProvider>
      <Inbox />
    </InboxLiveProvider>
  );
}
