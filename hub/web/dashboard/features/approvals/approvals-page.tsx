import { useInfiniteQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import type { ApprovalSummary } from '../../../../../shared/client/client.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useWords } from '../../app/language.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error.tsx';
import { Card, Empty, Page } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ApprovalRow } from './approval-row.tsx';
import { FilterTabs } from './filter-tabs.tsx';
import type { ApprovalFilter } from './search.ts';

const pageRows = 50;

function Rows({ title, rows }: { title?: string; rows: readonly ApprovalSummary[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      {title !== undefined && <h2 className="mt-4 mb-2">{title}</h2>}
      <Card className="overflow-hidden">
        <ul>
          {rows.map((approval) => (
            <ApprovalRow key={approval.id} approval={approval} />
          ))}
        </ul>
      </Card>
    </>
  );
}

function Nothing({ filter }: { filter: ApprovalFilter }) {
  const texts = useWords().approvals;
  if (filter === 'all') return <Empty title={texts.emptyAll}>{texts.emptyPendingText}</Empty>;
  return (
    <Empty title={filter === 'pending' ? texts.emptyPending : texts.emptyOther}>
      {filter === 'pending' && <p className="mb-3">{texts.emptyPendingText}</p>}
      <ButtonLink to="/approvals" search={{ status: 'all' }}>
        {texts.seeAll}
      </ButtonLink>
    </Empty>
  );
}

/** Approvals that wait, those that the user can decide first, and the history of decisions. */
export function ApprovalsPage() {
  const { common, approvals: texts } = useWords();
  const { status: filter = 'pending' } = useSearch({ from: '/approvals' });
  const list = useInfiniteQuery(
    pagedQuery('listAutomationApprovalSummaries', {
      query: { limit: pageRows, ...(filter === 'all' ? {} : { status: filter }) },
    }),
  );
  return (
    <Page title={common.approvals}>
      <FilterTabs selected={filter} />
      <Loaded of={list}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data);
          if (rows.length === 0) return <Nothing filter={filter} />;
          return (
            <>
              {filter === 'pending' ? (
                <>
                  <Rows title={texts.forYou} rows={rows.filter(({ canDecide }) => canDecide)} />
                  <Rows title={texts.forOthers} rows={rows.filter(({ canDecide }) => !canDecide)} />
                </>
              ) : (
                <Rows rows={rows} />
              )}
              <ErrorNote error={list.error} />
              {list.hasNextPage && (
                <div className="mt-3 text-center">
                  <Button isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
                    {common.more}
                  </Button>
                </div>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
