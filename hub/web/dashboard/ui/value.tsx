import { Check, Copy, X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { visibleText } from '../../../../shared/visible-text.ts';
import { background } from '../../../../shared/web/background.ts';
import { useLanguage, useWords } from '../app/language.tsx';
import { IconButton } from './button.tsx';

/** Longer texts are cut until the reader asks for them: a browser lays out megabytes of text in seconds. */
const shownCharacters = 64 * 1024;

/** @returns a function that copies a text to the clipboard, and whether that worked, null after a few seconds. */
export function useCopy(text: string) {
  const [isCopied, setCopied] = useState<boolean | null>(null);
  useEffect(() => {
    if (isCopied === null) return;
    const timer = setTimeout(() => setCopied(null), isCopied ? 2000 : 8000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  // Browsers offer the clipboard only on https and localhost.
  const canCopy = (navigator.clipboard as Clipboard | undefined) !== undefined;
  const copyText = () =>
    background(
      navigator.clipboard.writeText(text).then(
        () => setCopied(true),
        () => setCopied(false),
      ),
    );
  return { canCopy, isCopied, copyText };
}

export function CopyIcon({ isCopied, size }: { isCopied: boolean | null; size: number }) {
  const Icon = isCopied === null ? Copy : isCopied ? Check : X;
  return <Icon size={size} aria-hidden />;
}

/** Copies a text to the clipboard. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { copy, copied, notCopied } = useWords().common;
  const { canCopy, isCopied, copyText } = useCopy(text);
  if (!canCopy) return null;
  return (
    <IconButton label={isCopied === null ? (label ?? copy) : isCopied ? copied : notCopied} onClick={copyText}>
      <CopyIcon isCopied={isCopied} size={16} />
    </IconButton>
  );
}

/** A multi-line text in a fixed-width font, for output and JSON. A long text is cut until the reader asks for all. */
export function CodeBlock({ text, label }: { text: string; label?: string }) {
  const { bytes, format, words } = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > shownCharacters;
  return (
    <div className="relative">
      <pre
        aria-label={label}
        // Readers scroll it with the keyboard.
        tabIndex={0}
        // The text has its own direction, whatever the language of the page.
        dir="auto"
        className="max-h-96 overflow-auto rounded-(--radius-medium) bg-surface-muted p-3 pe-11 text-sm whitespace-pre-wrap wrap-anywhere"
      >
        {visibleText(isCut ? `${text.slice(0, shownCharacters)}…` : text)}
      </pre>
      <span className="absolute end-1 top-1">
        <CopyButton text={text} />
      </span>
      {isCut && (
        <button type="button" className="mt-1 text-sm text-accent hover:underline" onClick={() => setWhole(true)}>
          {format(words.common.wholeValue, { size: bytes(text.length) })}
        </button>
      )}
    </div>
  );
}
