import { useEffect, useState } from 'react';
import type { InboxMessage } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import type { DraftText } from './draft-text.ts';
import { readableText } from './message-text.tsx';
import { usePeople } from './people.ts';

/** Newer replies that are shown at most; the thread has all of them. */
const shownReplies = 3;
/** A reply can be sent when a newer one of a colleague was visible for this time. */
const readMs = 1_000;

/** The hub refuses a reply that has not seen such a message. */
const isReplyOfOther = ({ senderType, senderId }: InboxMessage, ownId: string) =>
  senderType === 'api' || senderType === 'ai' || (senderType === 'agent' && senderId !== ownId);

const isUnseen = ({ seq, createdAt }: InboxMessage, { seenSeq, seenAt }: DraftText) =>
  seq !== null && (seenSeq === null ? seenAt !== null && createdAt > seenAt : seq > seenSeq);

/** Replies of colleagues since the agent began to write, and whether they were visible long enough to be read. */
export function useNewerReplies(messages: readonly InboxMessage[], text: DraftText | null, ownId: string) {
  const replies = text === null ? [] : messages.filter((each) => isReplyOfOther(each, ownId) && isUnseen(each, text));
  const newest = replies.at(-1)?.id;
  const [read, setRead] = useState<string | undefined>();
  useEffect(() => {
    if (newest === undefined) return;
    const timer = setTimeout(() => setRead(newest), readMs);
    return () => clearTimeout(timer);
  }, [newest]);
  return { replies, isReadable: newest === undefined || newest === read };
}

/** Replies of colleagues since the agent began to write, above the text. */
export function NewerReplies({ replies, onSeen }: { replies: readonly InboxMessage[]; onSeen: () => void }) {
  const { words, format } = useLanguage();
  const { inbox } = words;
  const { senderOf } = usePeople();
  return (
    <div role="status">
      {replies.length > 0 && (
        <div className="mb-2 rounded-(--radius-medium) border border-warning bg-warning-muted px-3.5 py-2 text-warning">
          <div className="flex items-start gap-2">
            <p className="min-w-0 grow font-semibold">
              {format(inbox.newerReply, {
                names: [...new Set(replies.map(senderOf))].join(', '),
              })}
            </p>
            <Button size="small" onClick={onSeen}>
              {inbox.newerReplySeen}
            </Button>
          </div>
          {replies.slice(-shownReplies).map((reply) => (
            <p
              key={reply.id}
              dir="auto"
              className="mt-1 max-h-24 overflow-y-auto text-start wrap-anywhere whitespace-pre-wrap text-text"
            >
              {reply.content === '' ? inbox.noText : readableText(reply.content)}
            </p>
          ))}
        </div>
      )}
    </div>
  );
}
