import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { useEffect, useImperativeHandle, useRef, useState } from 'react';
import type { Ref } from 'react';
import type { InboxConversationDetail, InboxMessage } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { useNow } from '../../app/now.ts';
import { useStore } from '../../app/use-store.ts';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Empty } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import type { Draft } from './draft.ts';
import { useInboxLive } from './live.tsx';
import { readableText } from './message-text.tsx';
import { Message } from './message.tsx';
import { usePeople, useVisitorName } from './people.ts';
import type { Thread } from './thread.ts';
import { useInboxAddress } from './use-inbox-address.ts';

/** Pixels from an end of the thread at which more messages are read. */
const readAheadPixels = 600;
/** Messages of one sender within this time share one heading. */
const groupMs = 5 * 60_000;

const isSameSender = (one: InboxMessage, other: InboxMessage) =>
  one.senderType === other.senderType && one.senderId === other.senderId && one.private === other.private;

/** Who types now. */
function Typing({ conversation }: { conversation: InboxConversationDetail }) {
  const { words, format } = useLanguage();
  const { inbox } = words;
  const { typers } = useStore(useInboxLive().store);
  const { nameOf } = usePeople();
  const visitorName = useVisitorName();
  const names = (typers[conversation.id] ?? []).map(({ who, userId }) =>
    who === 'visitor' ? visitorName(conversation) : who === 'ai' ? inbox.aiAgent : nameOf(userId),
  );
  return (
    <p role="status" className="h-5 px-4 text-sm text-text-muted">
      {names.length > 0 && format(names.length === 1 ? inbox.typing : inbox.typingMany, { names: names.join(', ') })}
    </p>
  );
}

export interface ThreadControls {
  goToOldest: () => void;
  goToNewest: () => void;
}

/** The messages that are being sent, as they will appear, without those that the thread has already. */
function useOutgoing(draft: Draft, messages: readonly InboxMessage[], conversationId: string): InboxMessage[] {
  const { outgoing } = useStore(draft.store);
  const { ownId } = usePeople();
  return outgoing
    .filter((each) => !messages.some(({ clientId }) => clientId === each.clientId))
    .map(({ kind, content, files, clientId, sentAt }) => ({
      id: clientId,
      conversationId,
      seq: null,
      content,
      senderType: 'agent',
      senderId: ownId,
      senderName: null,
      senderPicture: null,
      attachments: [...files],
      clientId,
      createdAt: sentAt,
      position: 0,
      private: kind === 'note',
      sources: [],
      tools: [],
    }));
}

/** The messages of a conversation. Only visible ones are elements, so that 10,000 stay smooth. */
export function ThreadView({
  conversation,
  thread,
  draft,
  at,
  ref,
}: {
  conversation: InboxConversationDetail;
  thread: Thread;
  draft: Draft;
  at: number | undefined;
  ref: Ref<ThreadControls>;
}) {
  const { words, day } = useLanguage();
  const { inbox } = words;
  const now = new Date(useNow());
  const { messages: received, isLoaded, hasOlder, hasNewer, isReading, error } = useStore(thread.store);
  const outgoing = useOutgoing(draft, received, conversation.id);
  const messages = outgoing.length === 0 || hasNewer ? received : [...received, ...outgoing];
  const { go } = useInboxAddress();
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: messages.length,
    getScrollElement: () => box.current,
    estimateSize: () => 64,
    getItemKey: (index) => messages[index]?.id ?? index,
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 12,
    // Older messages appear above without moving what the agent reads.
    anchorTo: 'end',
    followOnAppend: !hasNewer,
    scrollEndThreshold: 60,
  });

  // The newest message, or the one that the address names, is visible first.
  const placedFor = useRef<number | 'end' | null>(null);
  useEffect(() => {
    if (!isLoaded || messages.length === 0) return;
    const target = at ?? 'end';
    if (placedFor.current === target) return;
    const index = at === undefined ? -1 : messages.findIndex(({ position }) => position === at);
    if (at === undefined ? hasNewer : index === -1) return;
    placedFor.current = target;
    if (index === -1) rows.scrollToEnd();
    else rows.scrollToIndex(index, { align: 'center' });
  }, [isLoaded, messages, hasNewer, at, rows]);

  // While the virtualizer still scrolls to the message of the address, further messages would move that away. They are
  // read when the reader moves.
  const [movedFrom, setMovedFrom] = useState<number | undefined>();
  const isHeld = at !== undefined && movedFrom !== at;
  const noteMove = () => setMovedFrom(at);
  const offset = rows.scrollOffset ?? 0;
  const fromEnd = rows.getTotalSize() - offset - (rows.scrollRect?.height ?? 0);
  const isPlaced = placedFor.current !== null;
  const isAtEnd = fromEnd < readAheadPixels;
  useEffect(() => {
    if (!isPlaced || isHeld || isReading || error !== null) return;
    if (hasOlder && offset < readAheadPixels) background(thread.readOlder());
    else if (hasNewer && isAtEnd) background(thread.readNewer());
  }, [isPlaced, isHeld, isReading, error, hasOlder, hasNewer, offset, isAtEnd, thread]);

  // The oldest messages must be rows before the thread can scroll to them.
  const isGoingToOldest = useRef(false);
  useEffect(() => {
    if (!isGoingToOldest.current || hasOlder) return;
    isGoingToOldest.current = false;
    rows.scrollToIndex(0, { align: 'start' });
  }, [received, hasOlder, rows]);
  const goToNewest = () => {
    isGoingToOldest.current = false;
    if (at !== undefined) go({ at: undefined }, true);
    else if (hasNewer) background(thread.open().then(() => rows.scrollToEnd()));
    else rows.scrollToEnd();
  };
  useImperativeHandle(ref, () => ({
    goToNewest,
    goToOldest: () => {
      noteMove();
      isGoingToOldest.current = hasOlder;
      if (hasOlder) background(thread.openOldest());
      else rows.scrollToIndex(0, { align: 'start' });
    },
  }));

  const lastSeen = messages.findLast(
    ({ seq, senderType }) => senderType !== 'visitor' && seq !== null && seq <= conversation.visitorReadSeq,
  );
  const isLastSeen =
    lastSeen !== undefined && messages.findLast(({ seq }) => seq !== null) === lastSeen && outgoing.length === 0;
  const newest = messages.at(-1);
  return (
    <div className="relative flex min-h-0 grow flex-col">
      <div
        ref={box}
        role="log"
        aria-label={inbox.messages}
        aria-live="off"
        // Readers scroll it with the keyboard.
        tabIndex={0}
        onWheel={noteMove}
        onPointerDown={noteMove}
        onTouchMove={noteMove}
        onKeyDown={noteMove}
        className="min-h-0 grow overflow-y-auto overflow-x-hidden -outline-offset-2!"
      >
        {!isLoaded && error === null && <Loading />}
        {error !== null && <LoadError error={error} onRetry={() => thread.catchUp()} />}
        {isLoaded && messages.length === 0 && <Empty title={inbox.noMessages} />}
        <div className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, key, start }) => {
            const message = messages[index];
            if (message === undefined) return null;
            const previous = messages[index - 1];
            const sentAt = new Date(message.createdAt);
            const isNewDay =
              previous === undefined
                ? !hasOlder
                : new Date(previous.createdAt).toDateString() !== sentAt.toDateString();
            const continues =
              previous !== undefined &&
              !isNewDay &&
              isSameSender(previous, message) &&
              sentAt.getTime() - Date.parse(previous.createdAt) < groupMs;
            return (
              <div
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="absolute inset-x-0 px-4"
                style={{ transform: `translateY(${start}px)` }}
              >
                {isNewDay && <p className="py-2 text-center text-sm text-text-muted">{day(sentAt, now, inbox)}</p>}
                <Message
                  message={message}
                  conversation={conversation}
                  continues={continues}
                  isFound={message.position === at}
                  isSeen={isLastSeen && message === lastSeen}
                  isOutgoing={outgoing.includes(message)}
                />
              </div>
            );
          })}
        </div>
      </div>
      <p aria-live="polite" className="sr-only">
        {newest !== undefined && newest.senderType === 'visitor' && !hasNewer && readableText(newest.content)}
      </p>
      {(hasNewer || !isAtEnd) && messages.length > 0 && (
        <div className="absolute inset-x-0 bottom-7 flex justify-center">
          <Button size="small" onClick={goToNewest}>
            <ArrowDown size={14} aria-hidden />
            {inbox.toNewest}
          </Button>
        </div>
      )}
      <Typing conversation={conversation} />
    </div>
  );
}
