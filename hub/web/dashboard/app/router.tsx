import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { readApprovalsSearch } from '../features/approvals/search.ts';
import { callFiltersOf } from '../features/calls/filters.ts';
import { readInboxSearch } from '../features/inbox/inbox-search.ts';
import { readNodeSearch, readNodesSearch } from '../features/nodes/node-search.ts';
import { parseRunSearch } from '../features/run/run-search.ts';
import { readRunSearch } from '../features/runs/filters.ts';
import { validateSettingsSearch } from '../features/settings/search.ts';
import { readWorkflowSearch, readWorkflowsSearch } from '../features/workflows/search.ts';
import { Loading } from '../ui/loaded.tsx';
import { lazyPage } from './lazy-page.ts';
import { NotFound, PageError } from './page-states.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyPage(['home', 'start', 'approvals'], () => import('../features/home/home-page.tsx'), 'HomePage'),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: readRunSearch,
  component: lazyPage(['runs'], () => import('../features/runs/runs-page.tsx'), 'RunsPage'),
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: parseRunSearch,
  component: lazyPage(['run', 'runs', 'approvals'], () => import('../features/run/run-page.tsx'), 'RunPage'),
});
const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: readApprovalsSearch,
  component: lazyPage(['approvals'], () => import('../features/approvals/approvals-page.tsx'), 'ApprovalsPage'),
});
const approval = createRoute({
  getParentRoute: () => root,
  path: '/approvals/$approvalId',
  component: lazyPage(['approvals'], () => import('../features/approvals/approval-page.tsx'), 'ApprovalPage'),
});
const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  validateSearch: readNodesSearch,
  component: lazyPage(['nodes', 'start'], () => import('../features/nodes/nodes-page.tsx'), 'NodesPage'),
});
const node = createRoute({
  getParentRoute: () => root,
  path: '/nodes/$nodeId/{-$tab}',
  validateSearch: readNodeSearch,
  component: lazyPage(['nodes', 'forms', 'start'], () => import('../features/nodes/node-page.tsx'), 'NodePage'),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: readInboxSearch,
  component: lazyPage(['inbox'], () => import('../features/inbox/inbox-page.tsx'), 'InboxPage'),
});
const workflows = createRoute({
  getParentRoute: () => root,
  path: '/workflows',
  validateSearch: readWorkflowsSearch,
  component: lazyPage(['workflows', 'runs'], () => import('../features/workflows/workflows-page.tsx'), 'WorkflowsPage'),
});
const workflow = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$workflowId/{-$tab}',
  validateSearch: readWorkflowSearch,
  component: lazyPage(['workflows', 'runs'], () => import('../features/workflows/workflow-page.tsx'), 'WorkflowPage'),
});
const sequences = createRoute({
  getParentRoute: () => root,
  path: '/sequences',
  component: lazyPage(['sequences'], () => import('../features/sequences/sequences-page.tsx'), 'SequencesPage'),
});
const sequence = createRoute({
  getParentRoute: () => root,
  path: '/sequences/$sequenceId',
  component: lazyPage(['sequences'], () => import('../features/sequences/sequence-page.tsx'), 'SequencePage'),
});
const agents = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  component: lazyPage(['agents'], () => import('../features/agents/agents-page.tsx'), 'AgentsPage'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$agentId',
  component: lazyPage(['agents'], () => import('../features/agents/agent-page.tsx'), 'AgentPage'),
});
const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyPage(['sessions'], () => import('../features/sessions/sessions-page.tsx'), 'SessionsPage'),
});
const sessionDetail = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$sessionId',
  validateSearch: ({ view }: Record<string, unknown>): { view?: 'json' } => (view === 'json' ? { view } : {}),
  component: lazyPage(['sessions'], () => import('../features/sessions/session-page.tsx'), 'SessionPage'),
});
const schedules = createRoute({
  getParentRoute: () => root,
  path: '/schedules',
  component: lazyPage(
    ['schedules', 'workflows'],
    () => import('../features/schedules/schedules-page.tsx'),
    'SchedulesPage',
  ),
});
const schedule = createRoute({
  getParentRoute: () => root,
  path: '/schedules/$workflowId',
  component: lazyPage(
    ['schedules', 'workflows'],
    () => import('../features/schedules/schedule-page.tsx'),
    'SchedulePage',
  ),
});
const packs = createRoute({
  getParentRoute: () => root,
  path: '/packs',
  component: lazyPage(['packs', 'runs'], () => import('../features/packs/packs-page.tsx'), 'PacksPage'),
});
const pack = createRoute({
  getParentRoute: () => root,
  path: '/packs/$packId',
  component: lazyPage(['packs', 'runs'], () => import('../features/packs/pack-page.tsx'), 'PackPage'),
});
const knowledge = createRoute({
  getParentRoute: () => root,
  path: '/knowledge',
  component: lazyPage(
    ['knowledge', 'settings'],
    () => import('../features/knowledge/knowledge-page.tsx'),
    'KnowledgePage',
  ),
});
const calls = createRoute({
  getParentRoute: () => root,
  path: '/calls',
  validateSearch: callFiltersOf,
  component: lazyPage(['calls'], () => import('../features/calls/calls-page.tsx'), 'CallsPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings/{-$section}',
  validateSearch: validateSettingsSearch,
  component: lazyPage(
    ['settings', 'approvals', 'agents'],
    () => import('../features/settings/settings-page.tsx'),
    'SettingsPage',
  ),
});

export const router = createRouter({
  basepath: '/app',
  routeTree: root.addChildren([
    home,
    runs,
    run,
    approvals,
    approval,
    nodes,
    node,
    inbox,
    workflows,
    workflow,
    sequences,
    sequence,
    agents,
    agent,
    sessions,
    sessionDetail,
    schedules,
    schedule,
    packs,
    pack,
    knowledge,
    calls,
    settings,
  ]),
  // The inbox scrolls its list to the open conversation.
  scrollRestoration: ({ location }) => location.pathname !== '/inbox',
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageError,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
