import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { LogLine } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import type { Input } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { LogRows, WholeLine, rowHeight, useLogRows } from './log-rows.tsx';
import type { Run, StepResult } from './run-model.ts';
import { useLogPages } from './use-log-pages.ts';

/** Rows before the end of the loaded ones at which more are read. */
const readAheadRows = 30;
/** Empty pages in a row after which the search asks before it continues. The hub examines 10,000 lines for each. */
const maxEmptyPages = 10;

interface PagedLogProps {
  run: Run;
  step: StepResult | undefined;
  filter: NonNullable<Input<'listAutomationLogs'>['query']>;
  order: 'asc' | 'desc';
  /** Id of the line to show in the middle. */
  line?: string | undefined;
  /** Leads to the place of a line that was found. */
  onFound?: (line: LogLine) => void;
}

/** The lines that a search found, the lines around one line, or a log from its beginning on. */
export function PagedLog({ run, step, filter, order, line, onFound }: PagedLogProps) {
  const { words, format, number } = useLanguage();
  const [selectedId, setSelectedId] = useState(line);
  const log = useLogPages(filter, { order, around: line });
  const { lines, pages, hasNextPage, hasPreviousPage, isFetching, error } = log;
  const count = lines.length;
  const rows = useLogRows(count);
  const { scroller } = rows;
  const firstId = lines[0]?.id;
  const lastFirstId = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const last = lastFirstId.current;
    if (last === undefined && line !== undefined) {
      // The line is in the middle of the view.
      const at = lines.findIndex(({ id }) => id >= line);
      element.scrollTop = at * rowHeight - element.clientHeight / 2;
    } else if (last !== undefined && last !== firstId) {
      // Lines that were added before keep the lines in view where they are.
      element.scrollTop += lines.findIndex(({ id }) => id === last) * rowHeight;
    }
    lastFirstId.current = firstId;
  }, [firstId]);
  const emptyPages = pages.length - 1 - pages.findLastIndex(({ data }) => data.length > 0);
  const isPaused = emptyPages >= maxEmptyPages && emptyPages % maxEmptyPages === 0;
  const [goesOnAt, setGoesOnAt] = useState(0);
  const mayContinue = !isPaused || goesOnAt === emptyPages;
  const firstRow = rows.items[0]?.index ?? 0;
  const lastRow = rows.items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (isFetching || error !== null || log.data === undefined) return;
    if (hasNextPage && mayContinue && lastRow >= count - readAheadRows) background(log.fetchNextPage());
    else if (hasPreviousPage && (scroller.current?.scrollTop ?? 0) < readAheadRows * rowHeight)
      background(log.fetchPreviousPage());
  }, [firstRow, lastRow, count, pages.length, isFetching, hasNextPage, hasPreviousPage, mayContinue, error]);
  const selected = lines.find(({ id }) => id === selectedId);
  const isSearch = filter.q !== undefined && line === undefined;
  return (
    <>
      <p role="status" className="mb-2 text-sm text-text-muted">
        {isSearch
          ? format(isFetching ? words.run.searching : hasNextPage ? words.run.foundSoFar : words.run.found, {
              count: number(count),
            })
          : isFetching && count === 0
            ? words.common.loading
            : format(words.run.linesShown, { count: number(count) })}
      </p>
      {error !== null && <LoadError error={error} onRetry={() => log.refetch()} />}
      {count > 0 && (
        <LogRows
          run={run}
          step={step}
          lines={lines}
          rows={rows}
          selectedId={selectedId}
          mark={filter.q ?? ''}
          action={onFound === undefined ? undefined : words.run.showPlace}
          onSelect={onFound ?? (({ id }) => setSelectedId(id === selectedId ? undefined : id))}
        />
      )}
      {count === 0 && !isFetching && !hasNextPage && error === null && (
        <p className="py-4 text-text-muted">{isSearch ? words.run.nothingFound : words.run.noLines}</p>
      )}
      {hasNextPage && isPaused && !mayContinue && !isFetching && (
        <Button className="mt-2" onClick={() => setGoesOnAt(emptyPages)}>
          {words.run.searchFurther}
        </Button>
      )}
      {selected !== undefined && <WholeLine line={selected} />}
    </>
  );
}
