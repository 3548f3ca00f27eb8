import { useInfiniteQuery } from '@tanstack/react-query';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { Button } from '../../ui/button.tsx';
import { LoadError } from '../../ui/error.tsx';
import { Section } from '../../ui/layout.tsx';
import { Loading } from '../../ui/loaded.tsx';
import { LocalTime } from '../../ui/time.tsx';
import { describeChanges } from './facts-changes.ts';
import { rereadNodesMs } from './nodes-page.tsx';

const pageRows = 20;

/** What changed on a machine over time, newest first. */
export function FactsHistory({ nodeId }: { nodeId: string }) {
  const language = useLanguage();
  const { nodes, common } = language.words;
  const list = useInfiniteQuery({
    ...pagedQuery('listAutomationNodeFacts', { params: { id: nodeId }, query: { limit: pageRows } }),
    refetchInterval: rereadNodesMs,
  });
  const entries = list.data?.pages.flatMap(({ data }) => data);
  return (
    <Section title={nodes.factsOverTime}>
      {entries === undefined &&
        (list.error === null ? <Loading /> : <LoadError error={list.error} onRetry={list.refetch} />)}
      {entries?.length === 0 && <p className="text-text-muted">{nodes.noFacts}</p>}
      <ol>
        {entries?.map(({ id, at, facts }, index) => {
          const before = entries[index + 1];
          // The entry before the last one shown is on the next page.
          if (before === undefined && list.hasNextPage) return null;
          const lines = before === undefined ? [nodes.firstReport] : describeChanges(before.facts, facts, language);
          return (
            <li key={id} className="flex gap-4 border-b py-1.5 text-sm last:border-b-0">
              <span className="w-28 shrink-0 text-text-muted">
                <LocalTime at={at} />
              </span>
              <div className="min-w-0 wrap-anywhere">
                {lines.map((line) => (
                  <div key={line} dir="auto" className="text-start">
                    {line}
                  </div>
                ))}
              </div>
            </li>
          );
        })}
      </ol>
      {list.hasNextPage && (
        <Button
          size="small"
          variant="quiet"
          isBusy={list.isFetchingNextPage}
          onClick={() => background(list.fetchNextPage())}
        >
          {common.more}
        </Button>
      )}
    </Section>
  );
}
