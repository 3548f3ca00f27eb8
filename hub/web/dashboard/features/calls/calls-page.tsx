import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { background } from '../../../../../shared/web/background.ts';
import { client, keyOf, query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useRereadOn } from '../../app/live-updates.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/form.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { PagedList } from '../../ui/paged-list.tsx';
import { CallsTable } from './calls-table.tsx';
import { callDirections, callResults } from './filters.ts';
import type { CallFilters } from './filters.ts';

function useCalls(filters: CallFilters) {
  return useInfiniteQuery({
    queryKey: [...keyOf('listCalls', { query: filters }), 'pages'],
    queryFn: async ({ pageParam, signal }) => {
      const page = { limit: 50, ...(pageParam === null ? {} : { cursor: pageParam }) };
      const { items, nextCursor } = await client.call('listCalls', { query: { ...filters, ...page } }, { signal });
      return { data: items, nextCursor };
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

function Summary() {
  const { words, number, variant } = useLanguage();
  const texts = words.calls;
  const { data } = useQuery(query('getCallSummary'));
  if (data === undefined) return null;
  const percent = new Intl.NumberFormat(variant, { style: 'percent', maximumFractionDigits: 0 });
  const tiles = [
    [number(data.callsToday), texts.today],
    [number(data.minutesToday), texts.minutes],
    data.answeredRate7d === null
      ? [words.common.none, texts.noRate]
      : [percent.format(data.answeredRate7d), texts.answered],
  ] as const;
  return (
    <div className="mb-3.5 grid gap-3.5 sm:grid-cols-3">
      {tiles.map(([value, label]) => (
        <Card key={label} className="px-4 py-3.5">
          <p className="text-2xl font-semibold">{value}</p>
          <p className="text-text-muted">{label}</p>
        </Card>
      ))}
    </div>
  );
}

/** Calls of the workspace. Calls in progress change by themselves. */
export function CallsPage() {
  const { words } = useLanguage();
  const texts = words.calls;
  const filters = useSearch({ from: '/calls' });
  const navigate = useNavigate({ from: '/calls' });
  const calls = useCalls(filters);
  useRereadOn(({ type }) => type === 'call', [['listCalls'], ['getCallSummary']]);
  const change = (next: CallFilters) => background(navigate({ search: next }));
  const isFiltered = Object.keys(filters).length > 0;
  const exported = `/calls/export?${new URLSearchParams({ format: 'csv', ...filters }).toString()}`;
  return (
    <Page
      title={words.common.calls}
      actions={
        <>
          <Button onClick={() => location.assign('/phone')}>{texts.openPhone}</Button>
          <Button onClick={() => location.assign(exported)}>{texts.export}</Button>
        </>
      }
    >
      <Summary />
      <div className="mb-3 flex flex-wrap gap-2">
        <Select
          aria-label={texts.direction}
          className="w-auto!"
          value={filters.direction ?? ''}
          onChange={(event) => {
            const { direction: _, ...rest } = filters;
            const direction = callDirections.find((each) => each === event.target.value);
            change(direction === undefined ? rest : { ...rest, direction });
          }}
        >
          <option value="">{texts.allDirections}</option>
          {callDirections.map((direction) => (
            <option key={direction} value={direction}>
              {texts.directions[direction]}
            </option>
          ))}
        </Select>
        <Select
          aria-label={texts.result}
          className="w-auto!"
          value={filters.result ?? ''}
          onChange={(event) => {
            const { result: _, ...rest } = filters;
            const result = callResults.find((each) => each === event.target.value);
            change(result === undefined ? rest : { ...rest, result });
          }}
        >
          <option value="">{texts.allResults}</option>
          {callResults.map((result) => (
            <option key={result} value={result}>
              {texts.results[result]}
            </option>
          ))}
        </Select>
      </div>
      <Card>
        <PagedList
          of={calls}
          empty={
            isFiltered ? (
              <Empty title={texts.noMatch} />
            ) : (
              <Empty title={texts.empty}>
                {texts.emptyText}{' '}
                <TextLink isInText to="/settings/{-$section}" params={{ section: 'carriers' }}>
                  {texts.addCarrier}
                </TextLink>
              </Empty>
            )
          }
        >
          {(rows) => <CallsTable calls={rows} />}
        </PagedList>
      </Card>
    </Page>
  );
}
