import { useInfiniteQuery } from '@tanstack/react-query';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useStore } from '../../app/use-store.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Card, Empty, Page } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { deletedWorkflows } from '../workflows/deleted-workflows.ts';
import { ScheduleCard } from './schedule-card.tsx';
import { readerZone } from './zoned-time.ts';

/** Workflows per page. The API has no filter for schedules, and each shown schedule needs two requests. */
const pageSize = 50;

const hasSchedule = (triggerType: string) => triggerType === 'schedule' || triggerType === 'heartbeat';

/** All workflows that start by themselves at certain times, with their next times. */
export function SchedulesPage() {
  const { words, format } = useLanguage();
  const texts = words.schedules;
  const { ids: deleted } = useStore(deletedWorkflows);
  const list = useInfiniteQuery(pagedQuery('listAutomationWorkflowSummaries', { query: { limit: pageSize } }));
  const zone = readerZone();
  const more = list.hasNextPage && (
    <Button isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
      {texts.readMore}
    </Button>
  );
  return (
    <Page title={words.common.schedules} meta={format(texts.intro, { zone })}>
      <Loaded of={list}>
        {({ pages }) => {
          const rows = pages
            .flatMap(({ data }) => data)
            .filter(({ id, triggerType }) => hasSchedule(triggerType) && !deleted.has(id))
            // The next one first; those without a next time last.
            .toSorted((one, other) => (one.nextRunAt ?? '~').localeCompare(other.nextRunAt ?? '~', 'en'));
          if (rows.length === 0)
            return (
              <Card>
                <Empty title={list.hasNextPage ? texts.emptyPage : texts.emptyTitle}>
                  <p className="mb-3">{texts.emptyText}</p>
                  {more === false ? <ButtonLink to="/workflows">{texts.toWorkflows}</ButtonLink> : more}
                </Empty>
              </Card>
            );
          return (
            <>
              <ul className="flex flex-col gap-4">
                {rows.map((workflow) => (
                  <li key={workflow.id}>
                    <ScheduleCard workflow={workflow} />
                  </li>
                ))}
              </ul>
              {more !== false && <p className="mt-3 text-center">{more}</p>}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
