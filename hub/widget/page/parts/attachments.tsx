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

const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** A file of a message: a picture is shown, anything else is offered for saving. */
export function Attachment(props: FileProps) {
  return pictures.includes(props.file.contentType) ? <Picture {...props} /> : <Saved {...props} />;
}

function Saved({ chat, file, language }: FileProps) {
  const [hasFailed, setFailed] = useState(false);
  const save = () => {
    setFailed(false);
    chat.blobs?.save(file.id, file.name).catch(() => setFailed(true));
  };
  return (
    <button
      type="button"
      class="file"
      aria-label={language.say(language.words.download, { name: file.name })}
      onClick={save}
    >
      <FileIcon />
      <span class="name" dir="auto">
        {file.name}
      </span>
      <small role="status">{hasFailed ? language.words.failed : language.bytes(file.bytes)}</small>
    </button>
  );
}

function Picture(props: FileProps) {
  const { chat, file, language } = props;
  const [url, setUrl] = useState<string | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let isHere = true;
    chat.blobs?.url(file.id).then(
      (made) => isHere && setUrl(made),
      () => isHere && setFailed(true),
    );
    return () => {
      isHere = false;
    };
  }, [chat, file.id]);
  if (hasFailed) return <Saved {...props} />;
  return (
    <>
      <button type="button" class="picture" aria-label={file.name} onClick={() => dialog.current?.showModal()}>
        {url !== null && <img src={url} alt="" onError={() => setFailed(true)} />}
      </button>
      {/* A click beside the picture closes it, as Escape does. */}
      <dialog ref={dialog} aria-label={file.name} onClick={() => dialog.current?.close()}>
        <button type="button" class="plain" aria-label={language.words.close}>
          <CloseIcon />
        </button>
        {url !== null && <img src={url} alt={file.name} />}
      </dialog>
    </>
  );
}
