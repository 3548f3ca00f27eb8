import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { RunSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';
import { useMediaQuery } from '../../app/use-media-query.ts';
import { shortId } from '../../ui/object-links.tsx';
import { Duration, RelativeTime } from '../../ui/time.tsx';
import { RunMeta, RunStatusCell, StartedBy } from './run-cells.tsx';

export interface RunSelection {
  ids: ReadonlySet<string>;
  toggle: (id: string) => void;
  setAll: (isSelected: boolean) => void;
}

interface RunsTableProps {
  rows: readonly RunSummary[];
  selection: RunSelection;
  /** The run on which the keys work. */
  current: string | null;
  onNearEnd: () => void;
}

const rowHeight = 58;
const cardHeight = 130;
/** Rows before and after the visible ones that are rendered. */
const overscan = 8;
/** Rows before the last one at which the next page is loaded. */
const loadAhead = 20;

function RunLink({ run }: { run: RunSummary }) {
  return (
    <Link
      to="/runs/$runId"
      params={{ runId: run.id }}
      data-run={run.id}
      className="font-medium wrap-anywhere text-accent no-underline hover:underline"
    >
      {visibleLine(run.workflowName)}
    </Link>
  );
}

function SelectBox({ run, selection }: { run: RunSummary; selection: RunSelection }) {
  const { words, format } = useLanguage();
  return (
    <input
      type="checkbox"
      aria-label={format(words.runs.select, { id: shortId(run.id) })}
      checked={selection.ids.has(run.id)}
      onChange={() => selection.toggle(run.id)}
      className="size-4 accent-(--color-accent)"
    />
  );
}

const rowClass = (isSelected: boolean, isCurrent: boolean) =>
  `${isSelected ? 'bg-accent-muted' : 'hover:bg-hover'} ${isCurrent ? 'shadow-[inset_3px_0_0_var(--color-accent)] rtl:shadow-[inset_-3px_0_0_var(--color-accent)]' : ''}`;

const Took = ({ run }: { run: RunSummary }) => {
  const { none } = useLanguage().words.common;
  return run.startedAt === null ? none : <Duration from={run.startedAt} to={run.finishedAt} />;
};

/** Runs as a table, or as cards on small screens. Only the rows near the visible part are on the page. */
export function RunsTable({ rows, selection, current, onNearEnd }: RunsTableProps) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const isWide = useMediaQuery('(min-width: 60rem)');
  const ref = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const top = (ref.current?.getBoundingClientRect().top ?? 0) + scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => (isWide ? rowHeight : cardHeight),
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan,
    scrollMargin: margin,
    scrollPaddingStart: 80,
    scrollPaddingEnd: 80,
  });
  const items = virtualizer.getVirtualItems();
  const lastIndex = items.at(-1)?.index ?? 0;
  const isNearEnd = rows.length > 0 && lastIndex >= rows.length - loadAhead;
  useEffect(() => {
    if (isNearEnd) onNearEnd();
  }, [isNearEnd, rows.length]);
  // The row can be outside the rendered part, so it is focused after it is rendered.
  useEffect(() => {
    if (current === null) return;
    const index = rows.findIndex(({ id }) => id === current);
    if (index === -1) return;
    virtualizer.scrollToIndex(index);
    const focus = () =>
      ref.current?.querySelector<HTMLElement>(`[data-run="${current}"]`)?.focus({ preventScroll: true });
    focus();
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(focus);
    });
    return () => cancelAnimationFrame(frame);
  }, [current]);

  const before = (items[0]?.start ?? margin) - margin;
  const after = virtualizer.getTotalSize() - ((items.at(-1)?.end ?? margin) - margin);
  const visible = items.flatMap(({ index }) => {
    const run = rows[index];
    return run === undefined ? [] : [{ run, index }];
  });
  const selectAll = (
    <input
      type="checkbox"
      aria-label={format(texts.selectAll, { count: rows.length })}
      checked={rows.length > 0 && rows.every(({ id }) => selection.ids.has(id))}
      onChange={(event) => selection.setAll(event.target.checked)}
      className="size-4 accent-(--color-accent)"
    />
  );
  if (!isWide)
    return (
      <div ref={ref}>
        <div role="table" aria-label={texts.runsTable} aria-rowcount={rows.length}>
          {before > 0 && <div aria-hidden style={{ height: before }} />}
          {visible.map(({ run, index }) => (
            <div
              key={run.id}
              role="row"
              ref={virtualizer.measureElement}
              data-index={index}
              aria-rowindex={index + 1}
              className={`flex gap-3 border-b p-3 ${rowClass(selection.ids.has(run.id), run.id === current)}`}
            >
              <div role="cell">
                <SelectBox run={run} selection={selection} />
              </div>
              <div className="flex min-w-0 flex-1 flex-col gap-1">
                <div role="cell">
                  <RunLink run={run} />
                  <RunMeta run={run} />
                </div>
                <div role="cell">
                  <RunStatusCell run={run} />
                </div>
                <div role="cell" className="flex flex-wrap gap-x-2 text-sm text-text-muted">
                  <RelativeTime at={run.startedAt ?? run.queuedAt} />
                  <span>
                    · <Took run={run} />
                  </span>
                  <span className="wrap-anywhere">
                    · <StartedBy run={run} />
                  </span>
                </div>
              </div>
            </div>
          ))}
          {after > 0 && <div aria-hidden style={{ height: after }} />}
        </div>
      </div>
    );
  const head = 'px-3.5 py-2 text-start font-semibold whitespace-nowrap';
  const cell = 'px-3.5 py-2 align-middle wrap-anywhere';
  return (
    <div ref={ref}>
      <table
        aria-label={texts.runsTable}
        aria-rowcount={rows.length + 1}
        className="w-full table-fixed border-collapse"
      >
        <thead>
          <tr className="border-b text-sm text-text-muted">
            <th scope="col" className="w-11 ps-3.5 py-2 text-start">
              {selectAll}
            </th>
            <th scope="col" className={`${head} w-[25%] ps-1!`}>
              {texts.run}
            </th>
            <th scope="col" className={head}>
              {texts.status}
            </th>
            <th scope="col" className={`${head} w-[16%]`}>
              {texts.startedBy}
            </th>
            <th scope="col" className={`${head} w-[11%]`}>
              {texts.took}
            </th>
            <th scope="col" className={`${head} w-[14%]`}>
              {texts.started}
            </th>
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr aria-hidden>
              <td colSpan={6} style={{ height: before, padding: 0 }} />
            </tr>
          )}
          {visible.map(({ run, index }) => (
            <tr
              key={run.id}
              ref={virtualizer.measureElement}
              data-index={index}
              aria-rowindex={index + 2}
              className={`border-b last:border-b-0 ${rowClass(selection.ids.has(run.id), run.id === current)}`}
            >
              <td className="py-2 ps-3.5">
                <SelectBox run={run} selection={selection} />
              </td>
              <td className={`${cell} ps-1!`}>
                <RunLink run={run} />
                <RunMeta run={run} />
              </td>
              <td className={cell}>
                <RunStatusCell run={run} />
              </td>
              <td className={cell}>
                <StartedBy run={run} />
              </td>
              <td className={`${cell} whitespace-nowrap`}>
                <Took run={run} />
              </td>
              <td className={cell}>
                <RelativeTime at={run.startedAt ?? run.queuedAt} />
              </td>
            </tr>
          ))}
          {after > 0 && (
            <tr aria-hidden>
              <td colSpan={6} style={{ height: after, padding: 0 }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
