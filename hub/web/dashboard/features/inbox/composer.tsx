import { Paperclip, Slash, Sparkles } from 'lucide-react';
import { useImperativeHandle, useLayoutEffect, useRef, useState } from 'react';
import type { KeyboardEvent, Ref } from 'react';
import { ApiError } from '../../../../../shared/client/client.ts';
import type { InboxConversationDetail, InboxMessage } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { preferences } from '../../app/preferences.ts';
import { useStore } from '../../app/use-store.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { CannedRepliesDialog } from './canned-replies.tsx';
import { DraftFiles } from './draft-files.tsx';
import { isBlank } from './draft-text.ts';
import type { DraftKind } from './draft-text.ts';
import { maxFiles } from './draft.ts';
import type { Draft } from './draft.ts';
import { isComposing } from './key-rule.ts';
import { useInboxLive } from './live.tsx';
import { NewerReplies, useNewerReplies } from './newer-replies.tsx';
import { usePeople } from './people.ts';
import { isSendKey } from './send-key.ts';
import { keyRule } from './shortcuts.ts';
import { Suggestion, useSuggestion } from './suggestion.tsx';
import type { Thread } from './thread.ts';
import { useTypingNotice } from './typing-notice.ts';

export interface ComposerControls {
  /** Moves the focus into the reply or the note. `text` is added to it. */
  write: (kind: DraftKind, text?: string) => void;
  useSuggestion: () => void;
  /** Whether the agent has a text or the focus here. */
  isWriting: () => boolean;
}

const maxLength = 10_000;
/** The rest of the length is shown from here on. */
const warnLength = 9_000;

/** Beside the name of a text that is not shown and not sent. */
function Unsent() {
  const { inbox } = useLanguage().words;
  return <span role="img" aria-label={inbox.draft} className="ms-1.5 inline-block size-2 rounded-full bg-accent" />;
}

const modeButton =
  'rounded-(--radius-medium) px-2.5 py-1 text-sm font-semibold text-text-muted hover:bg-hover aria-pressed:text-text';

/** Where the agent writes a reply or a note. */
export function Composer({
  conversation,
  thread,
  draft,
  messages,
  ref,
}: {
  conversation: InboxConversationDetail;
  thread: Thread;
  draft: Draft;
  messages: readonly InboxMessage[];
  ref: Ref<ComposerControls>;
}) {
  const { words, format } = useLanguage();
  const { inbox } = words;
  const { ownId } = usePeople();
  const { enterSends } = useStore(preferences);
  const { isConnected } = useStore(useInboxLive().store);
  const { isCurrent, hasNewer } = useStore(thread.store);
  const { kind, isSaved, problem } = useStore(draft.store);
  const { text } = draft;
  const { content, uploads } = text;
  const isNote = kind === 'note';
  const ai = useSuggestion(conversation);
  const typing = useTypingNotice(conversation.id);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const [isChoosing, setChoosing] = useState(false);
  const lastSeq = thread.lastSeq;
  const newer = useNewerReplies(messages, isNote ? null : text, ownId);

  const isClosed = conversation.status === 'closed' && !isNote;
  const wait = isNote ? null : !isCurrent ? inbox.waitForConnection : hasNewer ? inbox.readNewestFirst : null;
  const canSend =
    !isBlank(text) && content.length <= maxLength && uploads === 0 && wait === null && !isClosed && newer.isReadable;

  const focus = () => field.current?.focus();
  const write = (changed: string) => {
    draft.edit(changed, lastSeq);
    if (!isNote && changed !== '') typing.onInput();
  };
  const insert = (inserted: string) => {
    const at = field.current?.selectionStart ?? content.length;
    const end = field.current?.selectionEnd ?? at;
    write(content.slice(0, at) + inserted + content.slice(end));
    focus();
  };
  const show = (shown: DraftKind) => {
    draft.show(shown);
    focus();
  };
  const useAiSuggestion = () => {
    const { suggestion } = ai;
    // A suggestion is a reply. It does not appear beside a note.
    if (isNote || suggestion === null || suggestion.content === '') return;
    write(content.trim() === '' ? suggestion.content : `${content.trimEnd()}\n\n${suggestion.content}`);
    ai.accept(suggestion);
    focus();
  };
  const send = async () => {
    // The button loses the focus when it is disabled, and the next letters are no commands.
    focus();
    if (!canSend) return;
    typing.stop();
    const sent = await draft.send(lastSeq);
    if (sent === null) return;
    if ('message' in sent) thread.receive(sent.message);
    // The hub has a reply that this page has not.
    else if (sent.problem instanceof ApiError && sent.problem.code === 'newer_reply') {
      draft.noteSeen(lastSeq);
      await thread.catchUp();
    }
  };
  useImperativeHandle(ref, () => ({
    write: (shown, added = '') => {
      draft.show(shown);
      const { content: before } = draft.text;
      if (added !== '') draft.edit(before === '' ? added : `${before}\n\n${added}`, lastSeq);
      focus();
    },
    useSuggestion: useAiSuggestion,
    isWriting: () => !draft.isEmpty || document.activeElement === field.current,
  }));
  useLayoutEffect(() => {
    const element = field.current;
    return () => {
      // The text that the agent types goes nowhere then. Its letters are no commands.
      if (document.activeElement === element) keyRule.noteQuiet(Date.now(), Infinity);
    };
  }, []);

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isComposing(event.nativeEvent)) return;
    if (isSendKey(event, enterSends)) {
      event.preventDefault();
      // A held key must not send what the agent writes next, or pass a reply of a colleague.
      if (!event.repeat) background(send());
    } else if (event.key === 'Escape') event.currentTarget.blur();
    else if (event.key === '/' && content === '' && !event.ctrlKey && !event.metaKey && !event.altKey) {
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
      {!isNote && <Suggestion suggestion={ai.suggestion} error={ai.error} onUse={useAiSuggestion} />}
      <NewerReplies
        replies={newer.replies}
        onSeen={() => {
          draft.noteSeen(lastSeq);
          focus();
        }}
      />
      {isClosed && <p className="mb-2 text-text-muted">{inbox.closedText}</p>}
      <DraftFiles draft={draft} onRemoved={focus} />
      <textarea
        ref={field}
        // The placeholder has the direction of the page; a text has its own.
        dir={content === '' ? undefined : 'auto'}
        rows={2}
        aria-label={isNote ? inbox.noteLabel : inbox.replyLabel}
        placeholder={isNote ? inbox.notePlaceholder : inbox.replyPlaceholder}
        value={content}
        maxLength={maxLength}
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
            className={`${modeButton} ${isNote ? '' : 'bg-surface-muted'}`}
            onClick={() => show('reply')}
          >
            {inbox.reply}
            {isNote && !isBlank(draft.store.state.reply) && <Unsent />}
          </button>
          <button
            type="button"
            aria-pressed={isNote}
            className={`${modeButton} ${isNote ? 'bg-surface' : ''}`}
            onClick={() => show('note')}
          >
            {inbox.note}
            {!isNote && !isBlank(draft.store.state.note) && <Unsent />}
          </button>
        </div>
        <IconButton label={inbox.cannedReplies} onClick={() => setChoosing(true)}>
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
          onChoose={(chosen) => {
            setChoosing(false);
            insert(chosen);
          }}
        />
      )}
    </div>
  );
}
