import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { useLanguage } from '../../app/language.tsx';
import { LoadError } from '../../ui/error.tsx';
import { LogRows, WholeLine, rowHeight, useLogRows } from './log-rows.tsx';
import type { Run, StepResult } from './run-model.ts';
import { useLogs } from './use-logs.ts';
import type { LogFilter } from './use-logs.ts';

/** Rows before the first loaded one at which older lines are read. */
const readAheadRows = 30;

/** The newest lines of a log. New lines appear at the end. */
export function LiveLog({
  run,
  step,
  filter,
  isLive,
}: {
  run: Run;
  step: StepResult | undefined;
  filter: LogFilter;
  isLive: boolean;
}) {
  const { words, format, number } = useLanguage();
  const [isFollowing, setFollowing] = useState(true);
  const [selected, setSelected] = useState<LogLine | null>(null);
  const logs = useLogs(filter, isLive);
  const { lines, shift, isLoading, hasOlder, loadOlder } = logs;
  const rows = useLogRows(lines.length);
  const { scroller } = rows;
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
  const firstRow = rows.items[0]?.index ?? 0;
  useEffect(() => {
    // The place is read from the element: the rows are rendered for it only after its next scroll event.
    const scrollTop = scroller.current?.scrollTop ?? 0;
    if (hasOlder && !isLoading && logs.error === null && scrollTop < readAheadRows * rowHeight) loadOlder();
  }, [firstRow, hasOlder, isLoading, count]);
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-x-3 text-sm text-text-muted">
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
        <LogRows
          run={run}
          step={step}
          lines={lines}
          rows={rows}
          selectedId={selected?.id}
          onSelect={(line) => setSelected(selected?.id === line.id ? null : line)}
          onScroll={(event) => {
            const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
            setFollowing(scrollTop + clientHeight >= scrollHeight - rowHeight);
          }}
        />
      )}
      {selected !== null && <WholeLine line={selected} />}
    </>
  );
}
