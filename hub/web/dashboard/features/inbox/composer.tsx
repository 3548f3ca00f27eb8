import { Paperclip, Slash, Sparkles, X } from 'lucide-react';
import { useEffect, useImperativeHandle, useRef, useState } from 'react';
import type { KeyboardEvent, Ref } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { InboxConversationDetail, InboxMessage } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { preferences } from '../../app/preferences.ts';
import { useStore } from '../../app/use-store.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { CannedRepliesDialog } from './canned-replies.tsx';
import { maxFiles } from './drafts.ts';
import type { Draft } from './drafts.ts';
import { useInboxLive } from './live.tsx';
import { NewerReplies } from './newer-replies.tsx';
import { usePeople } from './people.ts';
import { Suggestion, useSuggestion } from './suggestion.tsx';
import type { Thread } from './thread.ts';
import { useTypingNotice } from './typing-notice.ts';

export interface ComposerControls {
  /** Moves the focus into the text. */
  write: (isNote: boolean) => void;
  useSuggestion: () => void;
}

const maxLength = 10_000;
/** The rest of the length is shown from here on. */
const warnLength = 9_000;

/** Files of the draft. */
function DraftFiles({ draft }: { draft: Draft }) {
  const { words, format, bytes } = useLanguage();
  const { inbox } = words;
  const { files, uploads, isSending } = useStore(draft.store);
  if (files.length + uploads === 0) return null;
  return (
    <ul aria-label={inbox.files} className="mb-1.5 flex flex-wrap gap-1.5 text-sm">
      {files.map((file) => (
        <li key={file.id} className="flex max-w-full items-center gap-1 rounded-full border bg-surface-muted ps-2.5">
          <span className="min-w-0 truncate">{visibleLine(file.name)}</span>
          <span className="whitespace-nowrap text-text-muted">{bytes(file.bytes)}</span>
          <IconButton
            label={format(inbox.removeFile, { name: visibleLine(file.name) })}
            className="size-7!"
            disabled={isSending}
            onClick={() => draft.detach(file.id)}
          >
            <X size={14} aria-hidden />
          </IconButton>
        </li>
      ))}
      {uploads > 0 && <li className="py-1 text-text-muted">{format(inbox.uploading, { count: uploads })}</li>}
    </ul>
  );
}

/** The hub refuses a reply that has not seen such a message. */
const isReplyOfOther = ({ senderType, senderId }: InboxMessage, ownId: string) =>
  senderType === 'api' || senderType === 'ai' || (senderType === 'agent' && senderId !== ownId);

const modeButton =
  'rounded-(--radius-medium) px-2.5 py-1 text-sm font-semibold text-text-muted hover:bg-hover aria-pressed:text-text';

/** Where the agent writes a reply or a note. */
export function Composer({
  conversation,
  thread,
  draft,
  messages,
  onReopen,
  ref,
}: {
  conversation: InboxConversationDetail;
  thread: Thread;
  draft: Draft;
  messages: readonly InboxMessage[];
  onReopen: () => void;
  ref: Ref<ComposerControls>;
}) {
  const { words, format } = useLanguage();
  const { inbox } = words;
  const { ownId } = usePeople();
  const { enterSends } = useStore(preferences);
  const { isConnected } = useStore(useInboxLive().store);
  const { isCurrent, hasNewer } = useStore(thread.store);
  const { content, isNote, uploads, seenSeq, isSaved, isSending, problem } = useStore(draft.store);
  const ai = useSuggestion(conversation);
  const typing = useTypingNotice(conversation.id);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [isChoosing, setChoosing] = useState(false);
  const lastSeq = thread.lastSeq;

  const isClosed = conversation.status === 'closed' && !isNote;
  const replies =
    isNote || seenSeq === null
      ? []
      : messages.filter((message) => message.seq !== null && message.seq > seenSeq && isReplyOfOther(message, ownId));
  const wait = isNote ? null : !isCurrent ? inbox.waitForConnection : hasNewer ? inbox.readNewestFirst : null;
  const canSend = !draft.isEmpty && uploads === 0 && wait === null && !isClosed;

  const write = (text: string) => {
    draft.edit(text, lastSeq);
    if (!isNote && text !== '') typing.onInput();
  };
  const insert = (text: string) => {
    const at = field.current?.selectionStart ?? content.length;
    const end = field.current?.selectionEnd ?? at;
    write(content.slice(0, at) + text + content.slice(end));
    field.current?.focus();
  };
  const useAiSuggestion = () => {
    const { suggestion } = ai;
    if (suggestion === null || suggestion.content === '' || isSending) return;
    draft.setNote(false);
    write(content.trim() === '' ? suggestion.content : `${content.trimEnd()}\n\n${suggestion.content}`);
    ai.accept(suggestion);
    field.current?.focus();
  };
  const send = async () => {
    if (!canSend || isSending) return;
    typing.stop();
    const message = await draft.send(lastSeq);
    if (message !== null) thread.receive(message);
    // The hub has a reply that this page has not.
    else if (draft.store.state.problem instanceof ApiError && draft.store.state.problem.code === 'newer_reply') {
      draft.noteSeen(lastSeq);
      await thread.catchUp();
    }
  };
  useImperativeHandle(ref, () => ({
    write: (note) => {
      draft.setNote(note);
      field.current?.focus();
    },
    useSuggestion: useAiSuggestion,
  }));
  // A disabled field loses the focus, so it gets it back after a message was sent.
  const hadFocus = useRef(false);
  useEffect(() => {
    if (!isSending && hadFocus.current) field.current?.focus();
    hadFocus.current = false;
  }, [isSending]);

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const isSendKey =
      event.key === 'Enter' && !event.shiftKey && (event.ctrlKey || event.metaKey || (enterSends && !event.altKey));
    if (isSendKey) {
      event.preventDefault();
      hadFocus.current = true;
      background(send());
    } else if (event.key === 'Escape') event.currentTarget.blur();
    else if (event.key === '/' && content === '' && !isSending && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      setChoosing(true);
    }
  };
  const onFiles = (files: FileList | null) => {
    if (files !== null && files.length > 0) background(draft.attach([...files]));
  };
  const isNewerReply = problem instanceof ApiError && problem.code === 'newer_reply';
  return (
    <div
      className={`border-t px-3 py-2 sm:px-4 ${isNote ? 'bg-warning-muted' : 'bg-surface'}`}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        onFiles(event.dataTransfer.files);
      }}
    >
      {!isNote && (
        <Suggestion suggestion={ai.suggestion} error={ai.error} isDisabled={isSending} onUse={useAiSuggestion} />
      )}
      <NewerReplies replies={replies} onSeen={() => draft.noteSeen(lastSeq)} />
      {isClosed && (
        <p className="mb-2 flex flex-wrap items-center gap-2 text-text-muted">
          {inbox.closedText}
          <Button size="small" onClick={onReopen}>
            {inbox.reopen}
          </Button>
        </p>
      )}
      <DraftFiles draft={draft} />
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        aria-label={isNote ? inbox.noteLabel : inbox.replyLabel}
        placeholder={isNote ? inbox.notePlaceholder : inbox.replyPlaceholder}
        value={content}
        maxLength={maxLength}
        readOnly={isSending}
        onChange={(event) => write(event.target.value)}
        onBlur={typing.stop}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          onFiles(event.clipboardData.files);
        }}
        className="field-sizing-content max-h-60 min-h-14 w-full resize-none rounded-(--radius-medium) border border-border-control bg-input px-3 py-2 text-start text-text"
      />
      <ErrorNote error={isNewerReply ? null : problem} />
      <div className="mt-1 flex flex-wrap items-center gap-x-1 gap-y-1.5">
        <div role="group" aria-label={inbox.kind} className="flex">
          <button
            type="button"
            aria-pressed={!isNote}
            disabled={isSending}
            className={`${modeButton} ${isNote ? '' : 'bg-surface-muted'}`}
            onClick={() => draft.setNote(false)}
          >
            {inbox.reply}
          </button>
          <button
            type="button"
            aria-pressed={isNote}
            disabled={isSending}
            className={`${modeButton} ${isNote ? 'bg-surface' : ''}`}
            onClick={() => draft.setNote(true)}
          >
            {inbox.note}
          </button>
        </div>
        <IconButton label={inbox.cannedReplies} disabled={isSending} onClick={() => setChoosing(true)}>
          <Slash size={16} aria-hidden />
        </IconButton>
        <IconButton label={format(inbox.attach, { count: maxFiles })} onClick={() => picker.current?.click()}>
          <Paperclip size={16} aria-hidden />
        </IconButton>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={inbox.files}
          onChange={(event) => {
            onFiles(event.target.files);
            event.target.value = '';
          }}
        />
        {ai.isAvailable && (
          <IconButton label={inbox.requestSuggestion} disabled={ai.isRequesting} onClick={ai.request}>
            <Sparkles size={16} aria-hidden className={ai.isRequesting ? 'animate-pulse' : ''} />
          </IconButton>
        )}
        <span role="status" className="min-w-0 grow px-1 text-end text-sm text-text-muted">
          {content.length > warnLength
            ? format(inbox.remaining, { count: maxLength - content.length })
            : content === ''
              ? ''
              : isSaved
                ? inbox.draftSaved
                : isConnected
                  ? ''
                  : inbox.draftKept}
        </span>
        <Button
          variant="primary"
          isBusy={isSending}
          disabled={!canSend}
          title={enterSends ? inbox.sendWithEnter : inbox.sendWithKeys}
          onClick={() => background(send())}
        >
          {isNote ? inbox.addNote : inbox.send}
        </Button>
      </div>
      {wait !== null && content !== '' && (
        <p role="status" className="mt-1 text-sm text-warning">
          {wait}
        </p>
      )}
      {isChoosing && (
        <CannedRepliesDialog
          conversationId={conversation.id}
          onClose={() => {
            setChoosing(false);
            field.current?.focus();
          }}
          onChoose={(text) => {
            setChoosing(false);
            insert(text);
          }}
        />
      )}
    </div>
  );
}
