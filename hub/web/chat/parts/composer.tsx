import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { maxMessageLength } from '../../../../shared/contract/chat/shapes.ts';
import type { Language } from '../language.ts';
import { isRetryable, isSendable, maxUploadBytes, maxUploads } from '../uploads.ts';
import type { Upload } from '../uploads.ts';
import { ClipIcon, CloseIcon, FileIcon, SendIcon } from './icons.tsx';
import type { PartProps } from './part-props.ts';

const maxCharacters: typeof maxMessageLength = 10_000;
const acceptedTypes = 'image/png,image/jpeg,image/gif,image/webp,application/pdf,text/plain,text/csv,audio/*';
const maxHeightPx = 160;

/** The form in which the visitor writes messages and attaches files. */
export function Composer({ chat, state }: PartProps) {
  const { language, draft, uploads } = state;
  const { words, format } = language;
  const field = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const [failure, setFailure] = useState('');
  const [isDraggedOver, setDraggedOver] = useState(false);
  const excessCharacters = Array.from(draft).length - maxCharacters;
  // Failed files are not sent and do not block the message.
  const sendable = uploads.filter(isSendable);
  const isReady =
    excessCharacters <= 0 &&
    sendable.every(({ attachment }) => attachment !== null) &&
    (draft.trim() !== '' || sendable.length > 0);

  useLayoutEffect(() => {
    const area = field.current;
    if (area === null) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, maxHeightPx)}px`;
  }, [draft]);
  useEffect(() => {
    // Focusing on a touch device would open the on-screen keyboard over the messages.
    if (chat.mayTakeFocus && matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, []);

  const send = () => {
    if (!isReady) return;
    setFailure('');
    chat.send();
    field.current?.focus();
  };
  const showLimit = (isWithinLimit: boolean) =>
    setFailure(isWithinLimit ? '' : format(words.tooManyFiles, { count: maxUploads }));
  const add = (files: readonly File[]) => {
    if (files.length > 0) showLimit(chat.addFiles(files));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    if (!matchMedia('(pointer: fine)').matches) return;
    event.preventDefault();
    send();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = Array.from(event.clipboardData?.files ?? []);
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  };

  return (
    <form
      class={isDraggedOver ? 'composer over' : 'composer'}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setDraggedOver(true);
      }}
      onDragLeave={() => setDraggedOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDraggedOver(false);
        add(Array.from(event.dataTransfer?.files ?? []));
      }}
    >
      {uploads.length > 0 && (
        <ul class="uploads">
          {uploads.map((upload) => (
            <UploadRow
              key={upload.key}
              upload={upload}
              language={language}
              onRemove={() => chat.removeFile(upload.key)}
              onRetry={() => showLimit(chat.retryFile(upload.key))}
            />
          ))}
        </ul>
      )}
      <p class="failure" role="alert">
        {excessCharacters > 0 ? format(words.tooLong, { count: excessCharacters }) : failure}
      </p>
      <div class="writing">
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          accept={acceptedTypes}
          aria-label={words.attach}
          onChange={({ currentTarget }) => {
            add(Array.from(currentTarget.files ?? []));
            currentTarget.value = '';
          }}
        />
        <button type="button" class="plain" aria-label={words.attach} onClick={() => chooser.current?.click()}>
          <ClipIcon />
        </button>
        <textarea
          ref={field}
          data-first
          rows={1}
          dir="auto"
          placeholder={isDraggedOver ? words.dropHere : words.write}
          aria-label={words.write}
          enterkeyhint="send"
          value={draft}
          onInput={({ currentTarget }) => chat.setDraft(currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <button type="submit" class="send" aria-label={words.send} disabled={!isReady}>
          <SendIcon />
        </button>
      </div>
    </form>
  );
}

interface UploadProps {
  upload: Upload;
  language: Language;
  onRemove: () => void;
  onRetry: () => void;
}

function UploadRow({ upload, language, onRemove, onRetry }: UploadProps) {
  const { words, format } = language;
  const { name, bytes, progress, attachment, failure } = upload;
  const isSending = attachment === null && failure === null;
  return (
    <li class={failure === null ? '' : 'failed'}>
      <FileIcon />
      <div class="what">
        <div class="name">
          <bdi>{name}</bdi>
        </div>
        {isSending && <progress max={1} value={progress} aria-label={name} />}
        {!isSending && (
          <small role="status">{failure === null ? language.bytes(bytes) : failureText(failure, language)}</small>
        )}
      </div>
      {isRetryable(upload) && (
        <button type="button" class="link" aria-label={`${words.retry}: ${name}`} onClick={onRetry}>
          {words.retry}
        </button>
      )}
      <button
        type="button"
        class="plain small"
        aria-label={format(isSending ? words.cancelFile : words.removeFile, { name })}
        onClick={onRemove}
      >
        <CloseIcon />
      </button>
    </li>
  );
}

function failureText(code: string, { words, format, bytes }: Language): string {
  if (code === 'too_large' || code === 'payload_too_large')
    return format(words.fileTooLarge, { size: bytes(maxUploadBytes) });
  return code === 'unsupported_media_type' ? words.fileKind : words.fileFailed;
}
