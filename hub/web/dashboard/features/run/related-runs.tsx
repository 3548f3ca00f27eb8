import { useInfiniteQuery } from '@tanstack/react-query';
import type { RunSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Section } from '../../ui/layout.tsx';
import { Loaded, Loading } from '../../ui/loaded.tsx';
import { RunLink, shortId } from '../../ui/object-links.tsx';
import { StatusPill } from '../../ui/status.tsx';
import { Duration, LocalTime } from '../../ui/time.tsx';
import { useFlow } from './run-actions.tsx';
import { beginOf, isFinal } from './run-model.ts';
import type { Run } from './run-model.ts';

function RunRow({
  run,
  label,
  isPresent = false,
  showsVersion = false,
}: {
  run: RunSummary;
  label: string;
  isPresent?: boolean;
  showsVersion?: boolean;
}) {
  const { words, format } = useLanguage();
  return (
    <li
      className={`flex flex-wrap items-center gap-x-4 gap-y-1 rounded-(--radius-medium) border px-3 py-2 ${isPresent ? 'bg-accent-muted' : ''}`}
    >
      <span className="min-w-0 flex-1 basis-40 wrap-anywhere">
        {isPresent ? `${label} (${words.run.thisRun})` : <RunLink runId={run.id}>{label}</RunLink>}
        <code className="block text-text-muted">{shortId(run.id)}</code>
      </span>
      {showsVersion && (
        <span className="text-sm text-text-muted">{format(words.run.version, { version: run.workflowVersion })}</span>
      )}
      <StatusPill status={run.status} />
      <span className="text-sm text-text-muted">
        <LocalTime at={run.queuedAt} /> · <Duration from={beginOf(run)} to={run.finishedAt} />
      </span>
    </li>
  );
}

/** The runs of the same flow, and the runs that steps of this run started. */
export function RelatedRuns({ run }: { run: Run }) {
  const { words, format } = useLanguage();
  const flow = useFlow(run, true);
  const children = useInfiniteQuery({
    ...pagedQuery('listAutomationRuns', { query: { parentRunId: run.id, limit: 50 } }),
    // The children of a run in progress change.
    refetchInterval: isFinal(run.status) ? false : 10_000,
  });
  const rows = children.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <div className="flex flex-col gap-3.5">
      <Section title={words.run.flow}>
        <p className="mb-2 text-text-muted">{words.run.flowText}</p>
        <Loaded of={flow}>
          {({ runs }) => (
            <ul className="flex flex-col gap-1.5">
              {runs.toReversed().map((each) => (
                <RunRow
                  key={each.id}
                  run={each.id === run.id ? run : each}
                  isPresent={each.id === run.id}
                  showsVersion={runs.some(({ workflowVersion }) => workflowVersion !== run.workflowVersion)}
                  label={format(words.run.attempt, { count: each.attempt })}
                />
              ))}
            </ul>
          )}
        </Loaded>
      </Section>
      <Section title={words.run.childRuns}>
        {children.isPending && <Loading />}
        {children.error !== null && <LoadError error={children.error} onRetry={children.refetch} />}
        {children.data !== undefined && rows.length === 0 && <p className="text-text-muted">{words.run.noChildRuns}</p>}
        {rows.length > 0 && (
          <ul className="flex flex-col gap-1.5">
            {rows.map((each) => (
              <RunRow key={each.id} run={each} label={visibleLine(each.workflowName)} />
            ))}
          </ul>
        )}
        {children.hasNextPage && (
          <Button
            className="mt-2"
            isBusy={children.isFetchingNextPage}
            onClick={() => background(children.fetchNextPage())}
          >
            {words.common.more}
          </Button>
        )}
      </Section>
    </div>
  );
}
