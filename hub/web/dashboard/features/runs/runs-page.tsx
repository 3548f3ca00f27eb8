import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { background } from '../../../../../shared/web/background.ts';
import { useLanguage } from '../../app/language.tsx';
import { loadScript } from '../../app/lazy-page.ts';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/layout.tsx';
import { FilterBar } from './filter-bar.tsx';
import { filtersOf } from './filters.ts';
import type { RunFilters } from './filters.ts';
import { useCountText, useRunEstimate } from './run-estimate.ts';
import { NoRuns, RunList } from './run-list.tsx';
import { SavedFilters } from './saved-filters.tsx';

const loadStartDialog = () => loadScript(() => import('./start-dialog.tsx'));
const StartDialog = lazy(() => loadStartDialog().then((module) => ({ default: module.StartDialog })));

/** Number of runs that match, and of those in progress. */
function Summary({ filters }: { filters: RunFilters }) {
  const { words, format } = useLanguage();
  const texts = words.runs;
  const countText = useCountText();
  const all = useRunEstimate(filters);
  const running = useRunEstimate({ ...filters, status: 'running' }, filters.status === undefined);
  if (all === undefined) return null;
  const count = !all.isExact
    ? countText(all)
    : all.count === 1
      ? texts.oneRun
      : format(texts.exactly, { count: all.count });
  const parts = [
    count,
    ...(running === undefined || running.count === 0 ? [] : [format(texts.runningNow, { count: countText(running) })]),
  ];
  return <span className="text-text-muted">{parts.join(' · ')}</span>;
}

/** All runs of the workspace. The filters are in the address. */
export function RunsPage() {
  const { words } = useLanguage();
  const search = useSearch({ from: '/runs' });
  const navigate = useNavigate({ from: '/runs' });
  const [isStarting, setStarting] = useState(false);
  // Loaded after the page, so that the dialog opens at once. A failure is shown when the dialog is opened.
  useEffect(() => background(loadStartDialog().catch(() => undefined)), []);
  const filters = filtersOf(search);
  const apply = (next: RunFilters) => background(navigate({ search: next }));
  return (
    <Page
      title={words.common.runs}
      aside={<Summary filters={filters} />}
      actions={
        <Button variant="primary" onClick={() => setStarting(true)}>
          {words.runs.start}
        </Button>
      }
    >
      <FilterBar filters={filters} onChange={(change) => apply({ ...filters, ...change })}>
        <SavedFilters filters={filters} onApply={apply} />
      </FilterBar>
      <RunList
        key={JSON.stringify(search)}
        filters={filters}
        cursor={search.cursor ?? null}
        onCursor={(cursor) => background(navigate({ search: { ...filters, cursor } }))}
        empty={
          <NoRuns>
            <Button onClick={() => setStarting(true)}>{words.runs.start}</Button>
          </NoRuns>
        }
      />
      <Suspense>{isStarting && <StartDialog onClose={() => setStarting(false)} />}</Suspense>
    </Page>
  );
}
