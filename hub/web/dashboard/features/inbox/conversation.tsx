import { useQuery } from '@tanstack/react-query';
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import type { Ref } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { client, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { noteFailure } from '../../app/session-state.ts';
import { useSession } from '../../app/session.tsx';
import { useStore } from '../../app/use-store.ts';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Empty } from '../../ui/layout.tsx';
import { Loading, useIsMissing } from '../../ui/loaded.tsx';
import { Composer } from './composer.tsx';
import type { ComposerControls } from './composer.tsx';
import { AssignDialog, SnoozeDialog, StatusDialog } from './conversation-dialogs.tsx';
import type { ConversationDialog } from './conversation-dialogs.tsx';
import { ConversationHeader } from './conversation-header.tsx';
import type { DraftKind } from './draft-text.ts';
import { EarlyField, earlyTexts, setEarlyText } from './early-text.tsx';
import { useInboxLive } from './live.tsx';
import { keyRule } from './shortcuts.ts';
import { ThreadView } from './thread-view.tsx';
import type { ThreadControls } from './thread-view.tsx';
import { useConversationActions } from './use-conversation-actions.ts';
import { opening, useInboxAddress } from './use-inbox-address.ts';
import { VisitorPanel } from './visitor-panel.tsx';

/** What the keyboard does with the open conversation. */
export interface ConversationControls extends ThreadControls {
  /** Moves the focus into the reply or the note, also before the conversation is loaded. */
  write: (kind: DraftKind) => void;
  useSuggestion: () => void;
  isWriting: () => boolean;
  resolve: () => void;
  assignToMe: () => void;
  show: (dialog: ConversationDialog) => void;
}

/** Messages count as read after this time, so that an agent can pass through the list. */
const readAfterMs = 600;

function usePageIsVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const update = () => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', update);
    return () => document.removeEventListener('visibilitychange', update);
  }, []);
  return isVisible;
}

/** One conversation: its messages, what the agent writes, and its visitor. */
export function Conversation({
  id,
  ref,
  onLeave,
  onStarted,
}: {
  id: string;
  ref: Ref<ConversationControls>;
  /** The conversation is done, and the agent goes on to the next one. */
  onLeave: () => void;
  /** The agent began another conversation with the visitor. */
  onStarted: (conversationId: string) => void;
}) {
  const { words } = useLanguage();
  const { inbox } = words;
  const { tenantId, user } = useSession();
  const live = useInboxLive();
  const { search, go } = useInboxAddress();
  const detail = useQuery(query('getInboxConversation', { params: { tenantId, id } }));
  const conversation = detail.data;
  const thread = live.threads.of(id);
  const draft = live.drafts.of(id);
  const { messages, isLoaded, hasNewer } = useStore(thread.store);
  const actions = useConversationActions(conversation);
  const composer = useRef<ComposerControls>(null);
  const threadView = useRef<ThreadControls>(null);
  const early = useStore(earlyTexts).texts[id];
  const [dialog, setDialog] = useState<ConversationDialog | null>(null);
  const isVisible = usePageIsVisible();

  useEffect(() => {
    live.open(id);
    return () => {
      draft.flush();
      live.open(null);
    };
  }, [live, draft, id]);
  useEffect(() => {
    background(thread.open(search.at));
  }, [thread, search.at]);
  // Before the composer gets what the agent typed early, the draft of the hub must be known.
  useLayoutEffect(() => {
    if (conversation === undefined) return;
    draft.adopt(conversation.draft);
    draft.noteSent(messages.filter(({ senderType, senderId }) => senderType === 'agent' && senderId === user.id));
  }, [draft, conversation, messages, user.id]);
  const isShown = conversation !== undefined;
  useLayoutEffect(() => {
    if (isShown) keyRule.noteShown(Date.now());
  }, [isShown]);
  const isLoadedEarly = conversation !== undefined && early !== undefined;
  useLayoutEffect(() => {
    if (!isLoadedEarly || composer.current === null) return;
    composer.current.write(early.kind, early.text);
    setEarlyText(id, null);
  }, [isLoadedEarly, early, id]);

  const lastSeq = thread.lastSeq;
  const readSeq = conversation?.agentReadSeq;
  useEffect(() => {
    if (!isVisible || hasNewer || !isLoaded || readSeq === undefined || lastSeq <= readSeq) return;
    const timer = setTimeout(() => {
      // A failure leaves the conversation unread.
      client.call('readInboxConversation', { params: { tenantId, id }, body: { seq: lastSeq } }).catch(noteFailure);
    }, readAfterMs);
    return () => clearTimeout(timer);
  }, [isVisible, hasNewer, isLoaded, readSeq, lastSeq, tenantId, id]);

  const isResolving = useRef(false);
  const resolve = () => {
    // An assignment that the hub still works on must not swallow the key. A second key can arrive before the page shows
    // that the hub works.
    if (conversation === undefined || actions.isUpdating || isResolving.current) return;
    isResolving.current = true;
    const isActive = conversation.status === 'open' || conversation.status === 'pending';
    // While the hub worked, the agent may have opened a dialog of this conversation.
    const leave = () => document.querySelector('dialog[open]') === null && onLeave();
    background(
      (isActive ? actions.resolve().then(leave) : actions.change({ status: 'open' }))
        .catch(noteFailure)
        .finally(() => (isResolving.current = false)),
    );
  };
  useImperativeHandle(ref, () => ({
    resolve,
    assignToMe: () => background(actions.assign(user.id).catch(noteFailure)),
    show: (shown) => conversation !== undefined && setDialog(shown),
    write: (kind) =>
      composer.current === null ? setEarlyText(id, { kind, text: early?.text ?? '' }) : composer.current.write(kind),
    useSuggestion: () => composer.current?.useSuggestion(),
    isWriting: () => early !== undefined || composer.current?.isWriting() === true,
    goToOldest: () => threadView.current?.goToOldest(),
    goToNewest: () => threadView.current?.goToNewest(),
  }));

  const isMissing = useIsMissing(detail);
  // An erased conversation disappears. What the agent wrote in it can still be copied.
  if (isMissing)
    return (
      <div className="min-w-0 grow overflow-y-auto bg-background">
        <Empty title={inbox.notFound}>
          <p className="mb-3">{inbox.notFoundText}</p>
          <Button onClick={() => go(opening(undefined))}>{inbox.backToList}</Button>
        </Empty>
        {draft.text.content !== '' && (
          <textarea
            readOnly
            dir="auto"
            rows={4}
            aria-label={inbox.unsentText}
            value={draft.text.content}
            className="mx-auto block w-[min(100%-2rem,40rem)] rounded-(--radius-medium) border bg-surface px-3 py-2"
          />
        )}
      </div>
    );
  if (conversation === undefined)
    return (
      <div className="flex min-w-0 grow flex-col bg-background">
        <div className="grow">
          {detail.error === null ? <Loading /> : <LoadError error={detail.error} onRetry={detail.refetch} />}
        </div>
        {early !== undefined && <EarlyField id={id} early={early} />}
      </div>
    );
  const close = () => setDialog(null);
  return (
    <>
      <section
        aria-labelledby="conversation-title"
        className={`min-w-0 grow flex-col bg-background ${search.panel === 'visitor' ? 'hidden xl:flex' : 'flex'}`}
      >
        <ConversationHeader conversation={conversation} actions={actions} onResolve={resolve} onShow={setDialog} />
        <ThreadView ref={threadView} conversation={conversation} thread={thread} draft={draft} at={search.at} />
        <Composer conversation={conversation} thread={thread} draft={draft} messages={messages} ref={composer} />
      </section>
      <VisitorPanel conversation={conversation} isOpen={search.panel === 'visitor'} onStarted={onStarted} />
      {dialog === 'assign' && <AssignDialog conversation={conversation} actions={actions} onClose={close} />}
      {dialog === 'snooze' && (
        <SnoozeDialog
          conversation={conversation}
          actions={actions}
          onClose={close}
          onSnoozed={() => {
            close();
            onLeave();
          }}
        />
      )}
      {dialog === 'status' && <StatusDialog conversation={conversation} actions={actions} onClose={close} />}
    </>
  );
}
