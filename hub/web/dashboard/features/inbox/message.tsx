import { Bot, Download, FileText } from 'lucide-react';
import type { ChatAttachment, InboxConversationDetail, InboxMessage } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useTenantId } from '../../app/session.tsx';
import { TimeOfDay } from '../../ui/time.tsx';
import { fileAddress } from './files.ts';
import { MessageText } from './message-text.tsx';
import { usePeople, useVisitorName } from './people.ts';
import { Sources } from './sources.tsx';

/** A file of a message: pictures and sounds in place, others as a link. */
function Attachment({ file: { id, name, contentType, bytes: size } }: { file: ChatAttachment }) {
  const { bytes, words, format } = useLanguage();
  const address = fileAddress(useTenantId(), id);
  const label = visibleLine(name);
  if (contentType.startsWith('image/'))
    return (
      <a href={address} target="_blank" rel="noopener noreferrer" className="block">
        <img
          src={address}
          alt={format(words.inbox.picture, { name: label })}
          className="h-40 max-w-full rounded-(--radius-medium) bg-surface-muted object-contain"
        />
      </a>
    );
  return (
    <span className="flex min-w-0 flex-col gap-1">
      {contentType.startsWith('audio/') && (
        // Visitors send recordings without a transcript.
        <audio controls preload="none" src={address} aria-label={label} className="max-w-full" />
      )}
      <a
        href={address}
        download
        className="flex min-w-0 items-center gap-2 rounded-(--radius-medium) border bg-surface px-2.5 py-1.5 text-sm text-text no-underline"
      >
        <FileText size={16} aria-hidden className="shrink-0" />
        <span className="min-w-0 wrap-anywhere">{label}</span>
        <span className="ms-auto whitespace-nowrap text-text-muted">{bytes(size)}</span>
        <Download size={14} aria-hidden className="shrink-0" />
      </a>
    </span>
  );
}

const bubbles = {
  visitor: 'me-auto border bg-surface',
  agent: 'ms-auto bg-accent text-on-accent',
  ai: 'ms-auto border border-accent bg-accent-muted',
  api: 'ms-auto border bg-surface-muted',
  system: 'mx-auto bg-transparent text-center text-sm text-text-muted',
  note: 'ms-auto bg-warning-muted text-warning',
};

/** A message or a note. */
export function Message({
  message,
  conversation,
  continues,
  isFound,
  isSeen,
  isOutgoing,
}: {
  message: InboxMessage;
  conversation: InboxConversationDetail;
  /** Whether the message above has the same sender and a heading. */
  continues: boolean;
  /** Whether the search found this message. */
  isFound: boolean;
  /** Whether it is the newest message, and the visitor has read it. */
  isSeen: boolean;
  /** Whether it is being sent. */
  isOutgoing: boolean;
}) {
  const { words, time } = useLanguage();
  const { inbox } = words;
  const { senderOf } = usePeople();
  const visitorName = useVisitorName();
  const { senderType, content, attachments, sources, tools, createdAt } = message;
  const sender = senderType === 'visitor' ? visitorName(conversation) : senderOf(message);
  const kind = message.private ? 'note' : senderType;
  return (
    <div className={continues ? 'pt-1' : 'pt-2.5'}>
      {!continues && kind !== 'system' && (
        <p
          className={`flex items-baseline gap-2 pb-0.5 text-xs text-text-muted ${kind === 'visitor' ? '' : 'justify-end'}`}
        >
          {senderType === 'ai' && <Bot size={13} aria-hidden className="self-center" />}
          <bdi className="font-semibold">{sender}</bdi>
          {message.private && <span>{inbox.noteHidden}</span>}
          <TimeOfDay at={createdAt} />
        </p>
      )}
      <div
        // Letters with many marks would cover other messages.
        className={`flex w-fit overflow-clip max-w-[min(85%,38rem)] flex-col gap-1.5 rounded-(--radius-large) px-3.5 py-2 ${bubbles[kind]} ${isOutgoing ? 'opacity-60' : ''} ${isFound ? 'outline-2 outline-offset-2 outline-warning' : ''}`}
      >
        {continues && <span className="sr-only">{`${sender}, ${time(new Date(createdAt))}`}</span>}
        {content !== '' && (
          <p dir="auto" className="text-start wrap-anywhere whitespace-pre-wrap">
            <MessageText text={content} />
          </p>
        )}
        {attachments.map((file) => (
          <Attachment key={file.id} file={file} />
        ))}
        <Sources sources={sources} tools={tools} />
      </div>
      {isOutgoing && (
        <p role="status" className="pt-0.5 text-end text-xs text-text-muted">
          {inbox.sending}
        </p>
      )}
      {isSeen && <p className="pt-0.5 text-end text-xs text-text-muted">{inbox.seen}</p>}
    </div>
  );
}
