import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChatAttachment } from '../../../../shared/contract/chat/shapes.ts';
import type { Chat } from '../chat.ts';
import type { Language } from '../language.ts';
import { CloseIcon, FileIcon } from './icons.tsx';

interface FileProps {
  chat: Chat;
  file: ChatAttachment;
  language: Language;
}

const pictureTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** A file of a message: pictures are shown, audio can be played, other files can be downloaded. */
export function Attachment(props: FileProps) {
  const { contentType } = props.file;
  if (pictureTypes.includes(contentType)) return <Picture {...props} />;
  return contentType.startsWith('audio/') ? <Sound {...props} /> : <FileButton {...props} />;
}

function FileButton({ chat, file, language }: FileProps) {
  const [hasFailed, setFailed] = useState(false);
  const save = () => {
    setFailed(false);
    chat.fileUrls?.save(file.id, file.name).catch(() => setFailed(true));
  };
  return (
    <button
      type="button"
      class="file"
      title={language.format(language.words.download, { name: file.name })}
      onClick={save}
    >
      <FileIcon />
      <span class="name" dir="auto">
        {file.name}
      </span>{' '}
      <small role="status">{hasFailed ? language.words.failed : language.bytes(file.bytes)}</small>
    </button>
  );
}

/** Loads a file and returns its object URL once it is available. */
function useBlob({ chat, file }: FileProps) {
  const [url, setUrl] = useState<string | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    let isMounted = true;
    chat.fileUrls?.url(file.id).then(
      (loadedUrl) => isMounted && setUrl(loadedUrl),
      () => isMounted && setFailed(true),
    );
    return () => {
      isMounted = false;
    };
  }, [chat, file.id]);
  return { url, hasFailed, fail: () => setFailed(true) };
}

function Sound(props: FileProps) {
  const { url, hasFailed, fail } = useBlob(props);
  return (
    <>
      {!hasFailed && (
        <audio
          class="sound"
          controls
          preload="metadata"
          aria-label={props.file.name}
          src={url ?? undefined}
          onError={fail}
        />
      )}
      <FileButton {...props} />
    </>
  );
}

function Picture(props: FileProps) {
  const { file, language } = props;
  const { url, hasFailed, fail } = useBlob(props);
  const dialog = useRef<HTMLDialogElement>(null);
  if (hasFailed) return <FileButton {...props} />;
  return (
    <>
      <button type="button" class="picture" aria-label={file.name} onClick={() => dialog.current?.showModal()}>
        {url !== null && <img src={url} alt="" onError={fail} />}
      </button>
      {/* A click anywhere closes the dialog, like Escape. */}
      <dialog ref={dialog} aria-label={file.name} onClick={() => dialog.current?.close()}>
        <button type="button" class="plain" aria-label={language.words.close}>
          <CloseIcon />
        </button>
        {url !== null && <img src={url} alt={file.name} />}
      </dialog>
    </>
  );
}
