import type { ReactNode } from 'react';
import { visibleLine, visibleText } from '../../../../../shared/visible-text.ts';
import { useWords } from '../../app/language.tsx';
import { CodeBlock } from '../../ui/value.tsx';

/** Longer texts get a frame of their own that scrolls. */
const inlineCharacters = 2_000;

/** Marks a line break at the end, which would show nothing. */
const lineBreak = visibleLine('\n');

/** A text of the request as it is. Its background shows where it starts and ends; hidden characters are named. */
export function ExactText({ text, label }: { text: string; label: string }) {
  const { emptyText } = useWords().approvals;
  if (text === '') return <em className="text-text-muted">{emptyText}</em>;
  if (text.length > inlineCharacters) return <CodeBlock text={text} label={label} />;
  return (
    <span dir="ltr" className="block w-fit max-w-full text-start">
      <code className="rounded-sm bg-surface-muted px-1 py-0.5 whitespace-pre-wrap wrap-anywhere">
        {text.endsWith('\n') ? `${visibleText(text.slice(0, -1))}${lineBreak}` : visibleText(text)}
      </code>
    </span>
  );
}

/** Texts of the request, each on its own numbered line. */
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

/** One field of the request. */
export function RequestField({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="border-b py-2.5 first:pt-0 last:border-b-0 last:pb-0">
      <dt className="mb-0.5 text-sm text-text-muted">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  );
}
