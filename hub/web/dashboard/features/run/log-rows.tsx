import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { RefObject, UIEvent } from 'react';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { ExactTime, clockOf } from './clock.tsx';
import { useStepName } from './names.tsx';
import type { Run, StepResult } from './run-model.ts';

export const rowHeight = 24;
/** Characters of a line in its row. A click shows the whole line. */
const rowCharacters = 500;

export const levels = ['debug', 'info', 'warn', 'error'] as const;
const colours: Record<LogLine['level'], string> = {
  debug: 'text-text-muted',
  info: 'text-accent',
  warn: 'text-warning',
  error: 'text-danger',
};

/** The part of a message for a row: its start, or the part around the first place of a text. */
function partOf(message: string, mark: string): string {
  const at = mark === '' ? -1 : message.toLowerCase().indexOf(mark.toLowerCase());
  const from = at > rowCharacters / 2 ? at - 40 : 0;
  const part = message.slice(from, from + rowCharacters);
  return `${from > 0 ? '…' : ''}${part}${from + rowCharacters < message.length ? '…' : ''}`;
}

/** A message with the places of a text marked. */
function Message({ message, mark }: { message: string; mark: string }) {
  const text = visibleLine(partOf(message, mark));
  if (mark === '') return text;
  const needle = visibleLine(mark);
  const parts: { text: string; isMarked: boolean }[] = [];
  // Lower case has another length for few letters. Such a text is shown without marks.
  const lower = text.toLowerCase();
  let from = 0;
  if (lower.length === text.length)
    for (let at = lower.indexOf(needle.toLowerCase()); at >= 0; at = lower.indexOf(needle.toLowerCase(), from)) {
      parts.push({ text: text.slice(from, at), isMarked: false });
      parts.push({ text: text.slice(at, at + needle.length), isMarked: true });
      from = at + needle.length;
    }
  parts.push({ text: text.slice(from), isMarked: false });
  return parts.map((part, index) =>
    part.isMarked ? (
      <mark key={index} className="rounded-xs bg-warning-muted font-semibold text-warning">
        {part.text}
      </mark>
    ) : (
      part.text
    ),
  );
}

export function WholeLine({ line }: { line: LogLine }) {
  return (
    <div className="mt-2">
      <p className="mb-1 text-sm text-text-muted">
        <ExactTime at={line.createdAt} /> · {line.level}
      </p>
      <CodeBlock text={line.message} />
    </div>
  );
}

/** The virtual rows of a log. `scroller` is the element that scrolls them. */
export function useLogRows(count: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  return { scroller, virtual, items: virtual.getVirtualItems() };
}

interface LogRowsProps {
  run: Run;
  step: StepResult | undefined;
  lines: readonly LogLine[];
  rows: { scroller: RefObject<HTMLDivElement | null> } & Pick<ReturnType<typeof useLogRows>, 'virtual' | 'items'>;
  selectedId: string | undefined;
  /** A text to mark in the lines. */
  mark?: string;
  /** What a click does: shows the whole line, or leads to its place. */
  action?: string | undefined;
  onSelect: (line: LogLine) => void;
  onScroll?: (event: UIEvent<HTMLDivElement>) => void;
}

/** Log lines, of which only the rows in view are on the page. */
export function LogRows({ run, step, lines, rows, selectedId, mark = '', action, onSelect, onScroll }: LogRowsProps) {
  const { words } = useLanguage();
  const stepName = useStepName();
  return (
    <div
      ref={rows.scroller}
      role="region"
      aria-label={words.run.logs}
      tabIndex={0}
      dir="ltr"
      className={`overflow-y-auto overscroll-contain rounded-(--radius-medium) border bg-surface font-mono text-xs ${step === undefined ? 'h-[65dvh]' : 'h-80'}`}
      onScroll={onScroll}
    >
      <div className="relative" style={{ height: rows.virtual.getTotalSize() }}>
        {rows.items.map(({ index, start }) => {
          const line = lines[index];
          if (line === undefined) return null;
          const owner = run.stepsResultJson[line.stepIndex];
          return (
            <button
              key={line.id}
              type="button"
              title={action}
              aria-expanded={action === undefined ? selectedId === line.id : undefined}
              onClick={() => onSelect(line)}
              className="absolute inset-x-0 top-0 flex items-center gap-2.5 px-2.5 text-start whitespace-nowrap hover:bg-hover -outline-offset-2! aria-expanded:bg-accent-muted"
              style={{ height: rowHeight, transform: `translateY(${start}px)` }}
            >
              <span className="text-text-muted">{clockOf(line.createdAt)}</span>
              <span className={`w-9 shrink-0 ${colours[line.level]}`}>{line.level}</span>
              {step === undefined && owner !== undefined && (
                <span className="w-32 shrink-0 truncate text-text-muted max-md:hidden">{stepName(owner)}</span>
              )}
              <span className="min-w-0 truncate">
                <Message message={line.message} mark={mark} />
              </span>
            </button>
          );
        })}
      </div>
    </div>
  );
}
