import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { visibleText } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { CopyButton } from '../../ui/value.tsx';

/** Longer lines continue in the next row. */
const rowCharacters = 160;
const rowHeight = 19;

function rowsOf(text: string): string[] {
  const rows: string[] = [];
  for (const line of text.split('\n'))
    if (line.length <= rowCharacters) rows.push(line);
    else for (let at = 0; at < line.length; at += rowCharacters) rows.push(line.slice(at, at + rowCharacters));
  return rows;
}

/** A whole text of any length. Only the rows in view are on the page, so that megabytes scroll smoothly. */
export function LargeText({ text, label }: { text: string; label: string }) {
  const { number, format, words } = useLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(text), [text]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  return (
    <div className="relative">
      <div
        ref={scroller}
        role="region"
        aria-label={label}
        // Readers scroll it with the keyboard.
        tabIndex={0}
        className="h-96 overflow-auto rounded-(--radius-medium) bg-surface-muted font-mono text-xs"
        dir="ltr"
      >
        <div className="relative w-max min-w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <div
              key={index}
              className="absolute inset-x-0 top-0 px-3 whitespace-pre"
              style={{ height: rowHeight, lineHeight: `${rowHeight}px`, transform: `translateY(${start}px)` }}
            >
              {visibleText(rows[index] ?? '')}
            </div>
          ))}
        </div>
      </div>
      <span className="absolute end-4 top-1">
        <CopyButton text={text} />
      </span>
      <p className="mt-1 text-xs text-text-muted">{format(words.run.wholeText, { rows: number(rows.length) })}</p>
    </div>
  );
}
