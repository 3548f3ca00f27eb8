import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import { background } from '../../../../shared/web/background.ts';
import type { Chat } from '../chat.ts';
import type { Language } from '../language.ts';
import type { Chunk } from '../messages.ts';
import type { Outgoing } from '../outbox.ts';
import { DownIcon } from './icons.tsx';
import { MessageRow } from './message-row.tsx';
import type { PartProps } from './part-props.ts';

/** Messages of one sender within this time are grouped, in milliseconds. */
const groupWithinMs = 5 * 60_000;
/** Chunks farther than this from the visible area are rendered as empty boxes of the same height. */
const renderMargin = '1600px 0px';
/** A conversation with at most this many chunks is rendered completely. */
const alwaysRenderedChunks = 4;
/** Within this distance, the list counts as scrolled to its end, in pixels. */
const atEndWithinPx = 60;
/** Within this distance from the start, older messages are loaded, in pixels. */
const loadOlderWithinPx = 600;

const isSameDay = (left: string, right: string) => new Date(left).toDateString() === new Date(right).toDateString();
const isContinuationOf = (previous: ChatMessage | undefined, message: ChatMessage) =>
  previous !== undefined &&
  previous.senderType === message.senderType &&
  previous.senderId === message.senderId &&
  isSameDay(previous.createdAt, message.createdAt) &&
  Date.parse(message.createdAt) - Date.parse(previous.createdAt) < groupWithinMs;

/**
 * The messages of the conversation. The scroll position counts from the end, so the view stays in place when messages
 * are added at either end.
 */
export function MessageList({ chat, state }: PartProps) {
  const { chunks, language, settings, hasOlder, outgoing, typing, partial, conversation, isLoaded, unread } = state;
  const { words, format } = language;
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);

  const onScroll = () => {
    const list = scroller.current;
    if (list === null) return;
    // The scroller counts downwards from 0 at its end.
    const fromEnd = -list.scrollTop;
    const isNowAtEnd = fromEnd < atEndWithinPx;
    setAtEnd(isNowAtEnd);
    chat.setAtEnd(isNowAtEnd);
    if (list.scrollHeight - list.clientHeight - fromEnd < loadOlderWithinPx) background(chat.loadOlder());
  };
  // With few or short messages the list cannot be scrolled, so older messages are loaded without a scroll event.
  useEffect(onScroll, [chunks.length, hasOlder]);
  const scrollToEnd = () => scroller.current?.scrollTo({ top: 0 });
  const outgoingCount = outgoing.length;
  useLayoutEffect(scrollToEnd, [outgoingCount]);

  const lastOwn = useMemo(() => lastOwnOf(chunks), [chunks]);
  const isRead = lastOwn !== null && lastOwn.seq <= (conversation?.agentReadSeq ?? 0);
  const ownStatus = outgoing.length > 0 || lastOwn === null ? '' : isRead ? words.read : words.sent;
  const agentName = conversation?.agentName ?? words.team;
  return (
    <div class="log-place">
      <div ref={scroller} class="scroller" tabIndex={0} aria-label={words.messages} role="region" onScroll={onScroll}>
        <div
          class="log"
          role="log"
          aria-label={words.messages}
          aria-live="polite"
          aria-relevant="additions"
          aria-busy={!isLoaded}
        >
          {hasOlder && (
            <p class="older" role="presentation">
              {words.older}
            </p>
          )}
          {!hasOlder && isLoaded && settings !== null && settings.greeting !== '' && (
            <p class="greeting" dir="auto">
              {settings.greeting ?? words.question}
            </p>
          )}
          {chunks.map((chunk, at) => (
            <ChunkView
              key={chunk.index}
              chunk={chunk}
              previousMessage={chunks[at - 1]?.messages.at(-1)}
              chat={chat}
              language={language}
              scroller={scroller}
              isAlwaysRendered={chunks.length <= alwaysRenderedChunks || at === chunks.length - 1}
              statusSeq={lastOwn !== null && chunk.messages.includes(lastOwn) ? lastOwn.seq : 0}
              deliveryStatus={lastOwn !== null && chunk.messages.includes(lastOwn) ? ownStatus : ''}
            />
          ))}
          {outgoing.map((message) => (
            <OutgoingRow
              key={message.clientId}
              chat={chat}
              language={language}
              message={message}
              isConnected={state.isConnected}
            />
          ))}
          {partial !== '' && (
            // Screen readers announce only the complete message.
            <div class="message partial" aria-hidden="true">
              <MessageRow
                chat={chat}
                language={language}
                senderType="ai"
                name={words.assistant}
                content={partial}
                attachments={[]}
                at={new Date().toISOString()}
                isContinuation={false}
              />
            </div>
          )}
        </div>
      </div>
      {typing !== null && (
        <p class="typing" role="status">
          <span class="dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          {format(words.typing, { name: typing === '' ? agentName : typing })}
        </p>
      )}
      {!isAtEnd && (
        <button
          type="button"
          class="to-end"
          aria-label={unread > 0 ? language.unread(unread) : words.latest}
          onClick={scrollToEnd}
        >
          <DownIcon />
          {unread > 0 && <b>{language.number(unread)}</b>}
        </button>
      )}
    </div>
  );
}

function lastOwnOf(chunks: readonly Chunk[]): ChatMessage | null {
  for (const { messages } of chunks.toReversed()) {
    const found = messages.findLast(({ senderType }) => senderType === 'visitor');
    if (found !== undefined) return found;
  }
  return null;
}

interface OutgoingRowProps {
  chat: Chat;
  language: Language;
  message: Outgoing;
  isConnected: boolean;
}

function OutgoingRow({ chat, language, message, isConnected }: OutgoingRowProps) {
  const { words } = language;
  const { clientId, isRefused } = message;
  return (
    <MessageRow
      chat={chat}
      language={language}
      senderType="visitor"
      name={words.you}
      content={message.content}
      attachments={message.attachments}
      at={message.writtenAt}
      isContinuation={false}
      deliveryStatus={isRefused ? words.notSent : isConnected ? words.sending : words.waiting}
      isRefused={isRefused}
      {...(isRefused ? { onRetry: () => chat.retry(clientId), onDiscard: () => chat.discard(clientId) } : {})}
    />
  );
}

interface ChunkProps {
  chunk: Chunk;
  previousMessage: ChatMessage | undefined;
  chat: Chat;
  language: Language;
  scroller: { current: HTMLDivElement | null };
  isAlwaysRendered: boolean;
  statusSeq: number;
  deliveryStatus: string;
}

function ChunkView({
  chunk,
  previousMessage,
  chat,
  language,
  scroller,
  isAlwaysRendered,
  statusSeq,
  deliveryStatus,
}: ChunkProps) {
  const box = useRef<HTMLDivElement>(null);
  const height = useRef(0);
  const [isNear, setNear] = useState(true);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting && entry.boundingClientRect.height > 0)
          height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { root: scroller.current, rootMargin: renderMargin },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller]);
  const isRendered = isAlwaysRendered || isNear;
  // Preact skips an unchanged tree, so a new message does not cause a walk over all others.
  const rows = useMemo(
    () =>
      chunk.messages.map((message, at) => {
        const previous = at === 0 ? previousMessage : chunk.messages[at - 1];
        const isNewDay = previous === undefined || !isSameDay(previous.createdAt, message.createdAt);
        return (
          <div key={message.seq} class="message" data-seq={message.seq}>
            {isNewDay && <p class="day">{language.day(new Date(message.createdAt), new Date())}</p>}
            <MessageRow
              chat={chat}
              language={language}
              senderType={message.senderType}
              name={nameOf(message, language)}
              content={message.content}
              attachments={message.attachments}
              picture={message.senderPicture}
              at={message.createdAt}
              isContinuation={!isNewDay && isContinuationOf(previous, message)}
              deliveryStatus={message.seq === statusSeq ? deliveryStatus : ''}
            />
          </div>
        );
      }),
    [chunk, previousMessage, chat, language, statusSeq, deliveryStatus],
  );
  return (
    <div ref={box} class="chunk" style={isRendered ? undefined : { height: `${height.current}px` }}>
      {isRendered && rows}
    </div>
  );
}

function nameOf({ senderType, senderName }: ChatMessage, { words }: Language): string {
  if (senderType === 'visitor') return words.you;
  if (senderType === 'ai') return words.assistant;
  return senderName ?? words.team;
}
