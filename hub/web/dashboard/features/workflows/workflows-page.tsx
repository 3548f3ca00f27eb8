import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { WorkflowSummary } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { pagedQuery } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { useMediaQuery } from '../../app/use-media-query.ts';
import { useStore } from '../../app/use-store.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Input, Select } from '../../ui/form.tsx';
import { Card, Empty, Page, TextLink } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Pill, StatusPill } from '../../ui/status.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { LocalTime, RelativeTime, TextWithTime } from '../../ui/time.tsx';
import { StartDialog } from '../runs/start-dialog.tsx';
import { DeletedList } from './deleted-list.tsx';
import { deletedWorkflows } from './deleted-workflows.ts';
import type { WorkflowsSearch } from './search.ts';
import { useWorkflowEvents } from './use-workflow-events.ts';

/** Milliseconds without a key after which the search starts. */
const typingMs = 300;
const pageSize = 50;

function SearchField({ q, onSearch }: { q: string; onSearch: (q: string) => void }) {
  const { find } = useLanguage().words.workflows;
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  useEffect(() => {
    if (text.trim() === q.trim()) return;
    const timer = setTimeout(() => onSearch(text.trim()), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <Input
      type="search"
      aria-label={find}
      placeholder={find}
      className="min-w-40 flex-1 basis-40"
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}

function LastRun({ workflow: { lastRun } }: { workflow: WorkflowSummary }) {
  const { noRun } = useLanguage().words.workflows;
  if (lastRun === null) return <span className="text-text-muted">{noRun}</span>;
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <StatusPill status={lastRun.status} />
      <TextLink to="/runs/$runId" params={{ runId: lastRun.id }}>
        <RelativeTime at={lastRun.queuedAt} />
      </TextLink>
    </span>
  );
}

interface WorkflowRowProps {
  workflow: WorkflowSummary;
  onRun: () => void;
}

/** The parts of a row, for the table and for the cards of small screens. */
function useParts({ workflow, onRun }: WorkflowRowProps) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const { id, name, active, triggerType, stepCount, version, environment, nextRunAt } = workflow;
  const types: Partial<Record<string, string>> = texts.triggerType;
  return {
    title: (
      <>
        <TextLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: id }}>
          {visibleLine(name)}
        </TextLink>{' '}
        {environment === 'test' && <Pill tone="neutral">{words.common.test}</Pill>}
      </>
    ),
    meta: `${stepCount === 1 ? texts.oneStep : format(texts.steps, { count: stepCount })} · ${format(texts.version, { version: String(version) })}`,
    trigger: types[triggerType] ?? visibleLine(triggerType),
    next: nextRunAt === null ? undefined : <TextWithTime text={texts.next} time={<LocalTime at={nextRunAt} />} />,
    state: <Pill tone={active ? 'success' : 'neutral'}>{active ? texts.on : texts.off}</Pill>,
    run: active && (
      <Button size="small" aria-label={`${texts.run} ${visibleLine(name)}`} onClick={onRun}>
        {texts.run}
      </Button>
    ),
  };
}

function WorkflowRow(props: WorkflowRowProps) {
  const { title, meta, trigger, next, state, run } = useParts(props);
  return (
    <Row>
      <Cell className="min-w-44 wrap-anywhere" note={meta}>
        {title}
      </Cell>
      <Cell note={next}>{trigger}</Cell>
      <Cell>{state}</Cell>
      <Cell>
        <LastRun workflow={props.workflow} />
      </Cell>
      <Cell className="whitespace-nowrap">
        <RelativeTime at={props.workflow.updatedAt} />
      </Cell>
      <Cell className="text-end">{run}</Cell>
    </Row>
  );
}

function WorkflowCard(props: WorkflowRowProps) {
  const { title, meta, trigger, next, state, run } = useParts(props);
  return (
    <li className="flex items-start gap-3 border-b p-3 last:border-b-0">
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="font-medium wrap-anywhere">{title}</p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-text-muted">
          {state} {trigger} · {meta}
        </p>
        {next !== undefined && <p className="text-sm text-text-muted">{next}</p>}
        <LastRun workflow={props.workflow} />
      </div>
      {run}
    </li>
  );
}

/** All workflows of the workspace. Search and order are in the address. */
export function WorkflowsPage() {
  const { words } = useLanguage();
  const texts = words.workflows;
  const search = useSearch({ from: '/workflows' });
  const navigate = useNavigate({ from: '/workflows' });
  const isWide = useMediaQuery('(min-width: 60rem)');
  const { ids: hidden } = useStore(deletedWorkflows);
  const [started, setStarted] = useState<string | null>(null);
  const { q, sort = 'createdAt', active, deleted = false } = search;
  const list = useInfiniteQuery({
    ...pagedQuery('listAutomationWorkflowSummaries', {
      query: {
        sort,
        limit: pageSize,
        ...(q === undefined ? {} : { q }),
        ...(active === undefined ? {} : { active }),
      },
    }),
    placeholderData: (previous) => previous,
    enabled: !deleted,
  });
  useWorkflowEvents();
  const apply = (change: WorkflowsSearch) => background(navigate({ search: { ...search, ...change }, replace: true }));
  const create = (
    <ButtonLink to="/workflows/$workflowId/{-$tab}" params={{ workflowId: 'new' }} variant="primary">
      {texts.create}
    </ButtonLink>
  );
  return (
    <Page title={words.common.workflows} actions={create}>
      <div className="mb-3 flex flex-wrap gap-2">
        {!deleted && <SearchField q={q ?? ''} onSearch={(text) => apply({ q: text === '' ? undefined : text })} />}
        <Select
          aria-label={texts.state}
          className="w-auto!"
          value={deleted ? 'deleted' : (active ?? '')}
          onChange={({ target: { value } }) =>
            apply({
              active: value === 'true' || value === 'false' ? value : undefined,
              deleted: value === 'deleted' ? true : undefined,
            })
          }
        >
          <option value="">{texts.anyState}</option>
          <option value="true">{texts.on}</option>
          <option value="false">{texts.off}</option>
          <option value="deleted">{texts.deleted}</option>
        </Select>
        {!deleted && (
          <Select
            aria-label={texts.sort}
            className="w-auto!"
            value={sort}
            onChange={({ target: { value } }) =>
              apply({ sort: value === 'updatedAt' || value === 'name' ? value : undefined })
            }
          >
            {(['createdAt', 'updatedAt', 'name'] as const).map((name) => (
              <option key={name} value={name}>
                {texts.sorts[name]}
              </option>
            ))}
          </Select>
        )}
      </div>
      {deleted ? (
        <DeletedList />
      ) : (
        <Card className="relative overflow-hidden">
          <Loaded of={list}>
            {({ pages }) => {
              const rows = pages.flatMap(({ data }) => data).filter(({ id }) => !hidden.has(id));
              if (rows.length === 0)
                return q === undefined && active === undefined ? (
                  <Empty title={texts.emptyTitle}>
                    <p className="mb-3">{texts.emptyText}</p>
                    <span className="flex flex-wrap justify-center gap-2">
                      {create}
                      <ButtonLink to="/packs">{texts.toPacks}</ButtonLink>
                    </span>
                  </Empty>
                ) : (
                  <Empty title={texts.emptySearch}>{texts.emptySearchText}</Empty>
                );
              const onRun = ({ id }: WorkflowSummary) => setStarted(id);
              if (!isWide)
                return (
                  <ul aria-label={texts.list}>
                    {rows.map((workflow) => (
                      <WorkflowCard key={workflow.id} workflow={workflow} onRun={() => onRun(workflow)} />
                    ))}
                  </ul>
                );
              return (
                <Table
                  head={[
                    texts.name,
                    texts.trigger,
                    texts.state,
                    texts.lastRun,
                    texts.changed,
                    <span className="sr-only">{texts.run}</span>,
                  ]}
                >
                  {rows.map((workflow) => (
                    <WorkflowRow key={workflow.id} workflow={workflow} onRun={() => onRun(workflow)} />
                  ))}
                </Table>
              );
            }}
          </Loaded>
        </Card>
      )}
      {!deleted && list.hasNextPage && (
        <p className="mt-3 text-center">
          <Button isBusy={list.isFetchingNextPage} onClick={() => background(list.fetchNextPage())}>
            {words.common.more}
          </Button>
        </p>
      )}
      {started !== null && <StartDialog workflowId={started} onClose={() => setStarted(null)} />}
    </Page>
  );
}
