import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useEffect, useMemo, useState } from 'react';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Card, Empty } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { hasFilters, runQueryOf } from './filters.ts';
import type { RunFilters } from './filters.ts';
import { useCountText, useRunEstimate } from './run-estimate.ts';
import { RunsTable } from './runs-table.tsx';
import type { RunSelection } from './runs-table.tsx';
import { useRowKeys } from './use-row-keys.ts';
import { maxRows, useRunList } from './use-run-list.ts';

/** Pixels from the upper edge of the page up to which the reader is at the top of the list. */
const topPixels = 80;

function useSelection(rows: readonly { id: string }[]): RunSelection & { clear: () => void } {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    ids,
    toggle: (id) =>
      setIds((old) => {
        const next = new Set(old);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    setAll: (isSelected) => setIds(new Set(isSelected ? rows.map(({ id }) => id) : [])),
    clear: () => setIds(new Set()),
  };
}

interface RunListProps {
  filters: RunFilters;
  /** Where the list begins; null for the newest runs. */
  cursor: string | null;
  /** The address of the same list at another place. */
  onCursor: (cursor: string | undefined) => void;
  /** What the list shows without runs, if there are no filters besides that of a workflow. */
  empty: ReactNode;
}

/** A list of runs that stays current, with selection, keyboard and actions for several runs. */
export function RunList({ filters, cursor, onCursor, empty }: RunListProps) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  // A period ends when the filter is chosen, so that the list has a fixed start.
  const runQuery = useMemo(() => runQueryOf(filters, Date.now()), [JSON.stringify(filters)]);
  const estimate = useRunEstimate(filters);
  const countText = useCountText();
  const [hasSelection, setHasSelection] = useState(false);
  const list = useRunList(runQuery, cursor, () => hasSelection || scrollY > topPixels);
  const rows = list.data?.rows ?? [];
  const selection = useSelection(rows);
  const isSelecting = selection.ids.size > 0;
  useEffect(() => setHasSelection(isSelecting), [isSelecting]);
  const current = useRowKeys(rows, selection.toggle);
  const newText = (count: number, hasMore: boolean) =>
    hasMore ? format(texts.newRunsMore, { count }) : count === 1 ? texts.newRun : format(texts.newRuns, { count });
  return (
    <>
      {cursor !== null && (
        <p className="mb-2">
          <Button size="small" onClick={() => onCursor(undefined)}>
            {texts.newestRuns}
          </Button>
        </p>
      )}
      <Card>
        <Loaded of={list}>
          {({ next, newCount, hasMoreNew }) => (
            <>
              {newCount > 0 && (
                // Without height, so that the rows do not move when it appears.
                <div className="sticky top-3 z-5 flex h-0 justify-center max-md:top-14">
                  <button
                    type="button"
                    className="h-8 -translate-y-1/2 rounded-full border border-accent bg-accent-muted px-4 font-semibold whitespace-nowrap text-accent shadow-medium"
                    onClick={() => {
                      scrollTo({ top: 0 });
                      list.showNew();
                    }}
                  >
                    {newText(newCount, hasMoreNew)}
                  </button>
                </div>
              )}
              {list.error !== null && <ErrorNote error={list.error} />}
              {rows.length > 0 && (
                <RunsTable
                  rows={rows}
                  selection={selection}
                  current={current}
                  onNearEnd={() => {
                    if (rows.length < maxRows && list.more.error === null) list.loadMore();
                  }}
                />
              )}
              {rows.length === 0 &&
                next === null &&
                (hasFilters(filters) ? <Empty title={texts.emptyFilterTitle}>{texts.emptyFilterText}</Empty> : empty)}
              {rows.length === 0 && next !== null && (
                <Empty title={texts.emptyFilterTitle}>
                  <p className="mb-3">{texts.searchFurtherText}</p>
                  <Button isBusy={list.more.isLoading} onClick={list.loadMore}>
                    {texts.searchFurther}
                  </Button>
                </Empty>
              )}
              {rows.length > 0 && (
                <div className="border-t px-3.5 py-2.5 text-sm text-text-muted">
                  {next !== null && rows.length >= maxRows ? (
                    <>
                      <p className="mb-2">{format(texts.olderRunsText, { count: rows.length })}</p>
                      <Button size="small" onClick={() => onCursor(next)}>
                        {texts.olderRuns}
                      </Button>
                    </>
                  ) : next === null ? (
                    rows.length === 1 ? (
                      texts.oneShown
                    ) : (
                      format(texts.allShown, { count: rows.length })
                    )
                  ) : (
                    <span className="flex flex-wrap items-center gap-3">
                      {estimate !== undefined &&
                        format(texts.shownOf, { shown: rows.length, count: countText(estimate) })}
                      <Button size="small" isBusy={list.more.isLoading} onClick={list.loadMore}>
                        {texts.loadMore}
                      </Button>
                    </span>
                  )}
                  <ErrorNote error={list.more.error} />
                </div>
              )}
            </>
          )}
        </Loaded>
      </Card>
      <BulkBar selection={selection} rows={rows} filters={filters} estimate={estimate} />
      {rows.length > 0 && <p className="mt-2 text-sm text-text-muted max-md:hidden">{texts.keys}</p>}
    </>
  );
}

/** Says that the workspace has no runs, and how to get one. */
export function NoRuns({ children }: { children?: ReactNode }) {
  const { runs, common } = useLanguage().words;
  return (
    <Empty title={runs.emptyTitle}>
      <p className="mb-3">{runs.emptyText}</p>
      {children ?? (
        <Link to="/workflows" className="text-accent">
          {common.workflows}
        </Link>
      )}
    </Empty>
  );
}
