import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { Workflow } from '../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { background } from '../../../../../shared/web/background.ts';
import { query } from '../../app/api.ts';
import { useLanguage } from '../../app/language.tsx';
import { NotFound } from '../../app/page-states.tsx';
import { Button } from '../../ui/button.tsx';
import { Card, Page } from '../../ui/layout.tsx';
import { Loaded, MissingObject, useIsMissing } from '../../ui/loaded.tsx';
import { Pill } from '../../ui/status.tsx';
import { LinkTabs } from '../../ui/tabs.tsx';
import { FilterBar } from '../runs/filter-bar.tsx';
import { filtersOf } from '../runs/filters.ts';
import type { RunFilters } from '../runs/filters.ts';
import { NoRuns, RunList } from '../runs/run-list.tsx';
import { StartDialog } from '../runs/start-dialog.tsx';
import type { WorkflowSearch } from './search.ts';
import { WorkflowEditor } from './workflow-editor.tsx';
import { WorkflowOverview } from './workflow-overview.tsx';
import { WorkflowSettings } from './workflow-settings.tsx';
import { WorkflowVersions } from './workflow-versions.tsx';

const tabNames = ['overview', 'edit', 'runs', 'versions', 'settings'] as const;
type TabName = (typeof tabNames)[number];
const isTab = (name: string): name is TabName => tabNames.some((tab) => tab === name);

/** One workflow, or the form of a new one. */
export function WorkflowPage() {
  const { words } = useLanguage();
  const texts = words.workflows;
  const { workflowId, tab = 'overview' } = useParams({ from: '/workflows/$workflowId/{-$tab}' });
  const crumbs = [{ label: words.common.workflows, link: { to: '/workflows' as const } }];
  if (workflowId === 'new')
    return (
      <Page title={texts.newTitle} crumbs={crumbs}>
        <Card className="p-4">
          <WorkflowEditor workflow={null} />
        </Card>
      </Page>
    );
  if (!isTab(tab)) return <NotFound />;
  return <ExistingWorkflow key={workflowId} id={workflowId} tab={tab} />;
}

function ExistingWorkflow({ id, tab }: { id: string; tab: TabName }) {
  const { words, format } = useLanguage();
  const texts = words.workflows;
  const [isStarting, setStarting] = useState(false);
  const workflow = useQuery(query('getAutomationWorkflow', { params: { id } }));
  const { data } = workflow;
  const isMissing = useIsMissing(workflow);
  const crumbs = [{ label: words.common.workflows, link: { to: '/workflows' as const } }];
  if (data === undefined && isMissing) return <MissingObject title={texts.missing} crumbs={crumbs} />;
  return (
    <Page
      title={data === undefined ? words.common.objectType.workflow : visibleLine(data.name)}
      crumbs={crumbs}
      aside={
        data !== undefined && (
          <>
            <Pill tone={data.active ? 'success' : 'neutral'}>{data.active ? texts.on : texts.off}</Pill>
            {data.environment === 'test' && <Pill tone="neutral">{words.common.test}</Pill>}
            <span className="text-text-muted">{format(texts.version, { version: String(data.version) })}</span>
          </>
        )
      }
      actions={
        <Button variant="primary" disabled={data?.active !== true} onClick={() => setStarting(true)}>
          {texts.run}
        </Button>
      }
    >
      <LinkTabs
        label={texts.parts}
        tabs={tabNames.map((name) => ({
          label: texts.tabs[name],
          link: {
            to: '/workflows/$workflowId/{-$tab}',
            params: { workflowId: id, tab: name === 'overview' ? undefined : name },
          },
        }))}
      />
      <Loaded of={workflow}>{(loaded) => <Part tab={tab} workflow={loaded} onRun={() => setStarting(true)} />}</Loaded>
      {isStarting && <StartDialog workflowId={id} onClose={() => setStarting(false)} />}
    </Page>
  );
}

function Part({ tab, workflow, onRun }: { tab: TabName; workflow: Workflow; onRun: () => void }) {
  switch (tab) {
    case 'overview':
      return <WorkflowOverview workflow={workflow} />;
    case 'edit':
      return (
        <Card className="p-4">
          <WorkflowEditor workflow={workflow} />
        </Card>
      );
    case 'runs':
      return <WorkflowRuns workflow={workflow} onRun={onRun} />;
    case 'versions':
      return <WorkflowVersions workflow={workflow} />;
    case 'settings':
      return <WorkflowSettings workflow={workflow} />;
  }
}

function WorkflowRuns({ workflow, onRun }: { workflow: Workflow; onRun: () => void }) {
  const { workflows } = useLanguage().words;
  const {
    version: _version,
    view: _view,
    ...search
  }: WorkflowSearch = useSearch({
    from: '/workflows/$workflowId/{-$tab}',
  });
  const navigate = useNavigate({ from: '/workflows/$workflowId/{-$tab}' });
  const filters = filtersOf(search);
  const apply = (next: RunFilters) => background(navigate({ search: next }));
  return (
    <>
      <FilterBar hasWorkflow={false} filters={filters} onChange={(change) => apply({ ...filters, ...change })} />
      <RunList
        key={JSON.stringify(search)}
        filters={{ ...filters, workflow: workflow.id }}
        cursor={search.cursor ?? null}
        onCursor={(cursor) => background(navigate({ search: { ...filters, cursor } }))}
        empty={
          <NoRuns>
            <Button disabled={!workflow.active} onClick={onRun}>
              {workflows.run}
            </Button>
          </NoRuns>
        }
      />
    </>
  );
}
