import { useWords } from '../app/language.tsx';
import { shortId } from './object-links.tsx';
import { CopyIcon, useCopy } from './value.tsx';

/** The end of an id. A click copies the whole id. */
export function CopyId({ id }: { id: string }) {
  const { copy, copied, notCopied } = useWords().common;
  const { canCopy, isCopied, copyText } = useCopy(id);
  const text = shortId(id);
  const code = <code title={id}>{text}</code>;
  if (!canCopy) return code;
  return (
    <button
      type="button"
      aria-label={`${isCopied === null ? copy : isCopied ? copied : notCopied} ${text}`}
      className="inline-flex min-h-6 items-center gap-1 hover:text-text"
      onClick={copyText}
    >
      {code}
      <CopyIcon isCopied={isCopied} size={14} />
    </button>
  );
}
