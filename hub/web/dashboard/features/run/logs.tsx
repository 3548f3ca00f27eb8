import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Select } from '../../ui/form.tsx';
import { CodeBlock } from '../../ui/value.tsx';
import { ExactTime, clockOf } from './clock.tsx';
import { useStepName } from './names.tsx';
import { isFinal } from './run-model.ts';
import type { Run, StepResult } from './run-model.ts';
import { useLogs } from './use-logs.ts';

const rowHeight = 24;
/** Characters of a line in its row. A click shows the whole line. */
const rowCharacters = 500;
/** Rows before the first loaded one at which older lines are read. */
const readAheadRows = 30;

const levels = ['debug', 'info', 'warn', 'error'] as const;
const colours: Record<LogLine['level'], string> = {
  debug: 'text-text-muted',
  info: 'text-accent',
  warn: 'text-warning',
  error: 'text-danger',
};

function WholeLine({ line }: { line: LogLine }) {
  return (
    <div className="mt-2">
      <p className="mb-1 text-sm text-text-muted">
        <ExactTime at={line.createdAt} /> · {line.level}
      </p>
      <CodeBlock text={line.message} />
    </div>
  );
}

/** The log of a run, or of one step. Only the rows in view are on the page. */
export function RunLogs({ run, step }: { run: Run; step?: StepResult }) {
  const { words, format, number } = useLanguage();
  const stepName = useStepName();
  const [level, setLevel] = useState<LogLine['level'] | undefined>(undefined);
  const [isFollowing, setFollowing] = useState(true);
  const [selected, setSelected] = useState<LogLine | null>(null);
  const isLive = !isFinal(run.status) && (step === undefined || step.finishedAt === null);
  const logs = useLogs(
    {
      runId: run.id,
      level,
      step:
        step === undefined
          ? undefined
          : { index: step.index, from: step.startedAt ?? run.queuedAt, to: step.finishedAt },
    },
    isLive,
  );
  const { lines, shift, isLoading, hasOlder, loadOlder } = logs;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  // Lines that were added before keep the lines in view where they are.
  const lastShift = useRef(shift);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && shift !== lastShift.current && !isFollowing)
      element.scrollTop += (shift - lastShift.current) * rowHeight;
    lastShift.current = shift;
  }, [shift, isFollowing]);
  const count = lines.length;
  useLayoutEffect(() => {
    const element = scroller.current;
    if (isFollowing && element !== null) element.scrollTop = element.scrollHeight;
  }, [count, isFollowing]);
  const items = virtual.getVirtualItems();
  const firstRow = items[0]?.index ?? 0;
  useEffect(() => {
    // The place is read from the element: the rows are rendered for it only after its next scroll event.
    const scrollTop = scroller.current?.scrollTop ?? 0;
    if (hasOlder && !isLoading && logs.error === null && scrollTop < readAheadRows * rowHeight) loadOlder();
  }, [firstRow, hasOlder, isLoading, count]);
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-text-muted">
        <Select
          className="w-auto!"
          aria-label={words.run.level}
          value={level ?? ''}
          onChange={(event) => setLevel(levels.find((each) => each === event.target.value))}
        >
          <option value="">{words.run.allLevels}</option>
          {levels.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </Select>
        {isLive && (
          <label className="flex items-center gap-1.5">
            <input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.target.checked)} />
            {words.run.follow}
          </label>
        )}
        <span role="status" className="ms-auto">
          {isLoading
            ? words.common.loading
            : format(hasOlder || logs.isCut ? words.run.linesLoaded : words.run.lines, { count: number(count) })}
        </span>
      </div>
      {logs.error !== null && <LoadError error={logs.error} onRetry={logs.retry} />}
      {count === 0 && !isLoading && logs.error === null ? (
        <p className="py-4 text-text-muted">{isLive ? words.run.noLinesYet : words.run.noLines}</p>
      ) : (
        <div
          ref={scroller}
          role="region"
          aria-label={words.run.logs}
          tabIndex={0}
          dir="ltr"
          className={`overflow-y-auto overscroll-contain rounded-(--radius-medium) border bg-surface font-mono text-xs ${step === undefined ? 'h-[65dvh]' : 'h-80'}`}
          onScroll={(event) => {
            const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
            setFollowing(scrollTop + clientHeight >= scrollHeight - rowHeight);
          }}
        >
          <div className="relative" style={{ height: virtual.getTotalSize() }}>
            {items.map(({ index, start }) => {
              const line = lines[index];
              if (line === undefined) return null;
              const owner = run.stepsResultJson[line.stepIndex];
              return (
                <button
                  key={line.id}
                  type="button"
                  aria-expanded={selected?.id === line.id}
                  onClick={() => setSelected(selected?.id === line.id ? null : line)}
                  className="absolute inset-x-0 top-0 flex items-center gap-2.5 px-2.5 text-start whitespace-nowrap hover:bg-hover -outline-offset-2! aria-expanded:bg-accent-muted"
                  style={{ height: rowHeight, transform: `translateY(${start}px)` }}
                >
                  <span className="text-text-muted">{clockOf(line.createdAt)}</span>
                  <span className={`w-9 shrink-0 ${colours[line.level]}`}>{line.level}</span>
                  {step === undefined && owner !== undefined && (
                    <span className="w-32 shrink-0 truncate text-text-muted max-md:hidden">{stepName(owner)}</span>
                  )}
                  <span className="min-w-0 truncate">
                    {visibleLine(
                      line.message.length > rowCharacters ? `${line.message.slice(0, rowCharacters)}…` : line.message,
                    )}
                  </span>
                </button>
              );
            })}
          </div>
        </div>
      )}
      {selected !== null && <WholeLine line={selected} />}
    </div>
  );
}
