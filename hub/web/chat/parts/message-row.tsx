import type { ChatAttachment, SenderType } from '../../../../shared/contract/chat/shapes.ts';
import { linkParts } from '../../../../shared/web/links.ts';
import type { Chat } from '../chat.ts';
import type { Language } from '../language.ts';
import { Attachment } from './attachments.tsx';
import { Portrait } from './portrait.tsx';

/** Renders a text literally. Only http and https URLs become links. */
export function MessageText({ text }: { text: string }) {
  return (
    <>
      {linkParts(text).map((part, index) =>
        part.href === undefined ? (
          part.text
        ) : (
          <a key={index} href={part.href} target="_blank" rel="noopener noreferrer nofollow">
            {part.text}
          </a>
        ),
      )}
    </>
  );
}

export interface RowProps {
  chat: Chat;
  language: Language;
  senderType: SenderType;
  /** Name of the sender. */
  name: string;
  content: string;
  attachments: readonly ChatAttachment[];
  /** Path of the agent's picture. */
  picture?: string | null;
  at: string;
  /** Whether the message is grouped with the previous one of the same sender. */
  isContinuation: boolean;
  /** Delivery status; empty to show none. */
  deliveryStatus?: string;
  isRefused?: boolean;
  onRetry?: () => void;
  onDiscard?: () => void;
}

export function MessageRow(props: RowProps) {
  const {
    chat,
    language,
    senderType,
    name,
    content,
    attachments,
    at,
    isContinuation,
    deliveryStatus = '',
    isRefused = false,
  } = props;
  const { picture = null } = props;
  if (senderType === 'system')
    return (
      <div class="system" dir="auto">
        {content}
      </div>
    );
  const isOwn = senderType === 'visitor';
  const when = new Date(at);
  return (
    <div
      class={`row ${senderType === 'agent' ? 'agent ' : ''}${isOwn ? 'own' : 'other'}${isContinuation ? ' more' : ''}${isRefused ? ' refused' : ''}`}
    >
      {senderType === 'agent' && !isContinuation && (
        <div class="avatar small" aria-hidden="true">
          <Portrait name={name} picture={picture} fallback={null} />
        </div>
      )}
      <div class={isContinuation ? 'visually-hidden' : 'meta'}>
        <bdi class={isOwn ? 'visually-hidden' : ''}>{name}</bdi>{' '}
        <time dateTime={at} title={language.dateTime(when)}>
          {language.time(when)}
        </time>
      </div>
      {attachments.map((file) => (
        <Attachment key={file.id} chat={chat} file={file} language={language} />
      ))}
      {content !== '' && (
        <div class="bubble" dir="auto">
          <MessageText text={content} />
        </div>
      )}
      {deliveryStatus !== '' && (
        <div class="fate">
          {deliveryStatus}
          {props.onRetry !== undefined && (
            <button type="button" class="link" onClick={props.onRetry}>
              {language.words.retry}
            </button>
          )}
          {props.onDiscard !== undefined && (
            <button type="button" class="link" onClick={props.onDiscard}>
              {language.format(language.words.removeFile, { name: '' })}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
