import { useState } from 'react';
import type { ReactNode } from 'react';
import { lineCount, nameBlanks } from '../../../../../shared/exact-text.ts';
import { visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { CopyButton } from '../../ui/value.tsx';
import { useEnd } from './reading.ts';

/** Longer texts get a frame of their own that scrolls. */
const inlineCharacters = 2_000;
const inlineLines = 12;
/** Longer texts are cut until the reader asks for them: a browser lays out megabytes of text in seconds. */
const shownCharacters = 64 * 1024;

/** The end of a part of the request. */
export function End({ isCut = false }: { isCut?: boolean }) {
  return <span ref={useEnd(isCut)} className="block h-px" />;
}

function Frame({ text, shown, label }: { text: string; shown: string; label: string }) {
  const { words, format, bytes } = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && shown.length > shownCharacters;
  return (
    <div className="relative">
      <pre
        dir="ltr"
        aria-label={label}
        // Readers scroll it with the keyboard.
        tabIndex={0}
        className="max-h-72 overflow-auto rounded-(--radius-medium) border bg-surface-muted p-3 pe-11 text-start text-sm whitespace-pre-wrap wrap-anywhere"
      >
        {isCut ? `${shown.slice(0, shownCharacters)}…` : shown}
        <End isCut={isCut} />
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

/**
 * A text of the request as it is. The line at its side and its background show where it starts and ends. Hidden
 * characters and long runs of blank ones are named.
 */
export function ExactText({ text, label }: { text: string; label: string }) {
  const { words, format, number } = useLanguage();
  const { emptyText, blanks } = words.approvals;
  if (text === '') return <em className="text-text-muted">{emptyText}</em>;
  const shown = visibleText(nameBlanks(text, (kind, count) => format(blanks[kind], { count: number(count) })));
  if (shown.length > inlineCharacters || lineCount(shown) > inlineLines)
    return <Frame text={text} shown={shown} label={label} />;
  return (
    <span
      dir="ltr"
      className="block w-fit max-w-full overflow-hidden border-s-2 border-border-control ps-1.5 text-start"
    >
      <code className="rounded-sm bg-surface-muted px-1 py-0.5 whitespace-pre-wrap wrap-anywhere">{shown}</code>
    </span>
  );
}

/** Texts of the request, each in its own numbered row. */
export function ExactLines({ lines, label, start }: { lines: readonly string[]; label: string; start: number }) {
  return (
    <ol className="flex flex-col gap-1.5">
      {lines.map((line, index) => (
        <li key={index} className="flex items-baseline gap-2">
          <span aria-hidden className="min-w-4 text-end font-mono text-sm text-text-muted">
            {start + index}
          </span>
          <span className="min-w-0 flex-1">
            <ExactText text={line} label={`${label} ${start + index}`} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** One field of the request. On a phone, a short one has its name at its side, so that the whole request is short. */
export function RequestField({
  name,
  isShort = false,
  children,
}: {
  name: string;
  isShort?: boolean;
  children: ReactNode;
}) {
  const columns = isShort
    ? 'grid-cols-[8rem_minmax(0,1fr)] sm:grid-cols-[10rem_minmax(0,1fr)]'
    : 'sm:grid-cols-[10rem_minmax(0,1fr)]';
  return (
    <div className={`grid gap-x-3 border-b py-1.5 first:pt-0 last:border-b-0 last:pb-0 ${columns}`}>
      <dt className="mb-0.5 text-sm text-text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}
