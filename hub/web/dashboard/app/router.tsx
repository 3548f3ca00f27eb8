import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { readApprovalsSearch } from '../features/approvals/search.ts';
import { callFiltersOf } from '../features/calls/filters.ts';
import { readInboxSearch } from '../features/inbox/inbox-search.ts';
import { readNodeSearch, readNodesSearch } from '../features/nodes/node-search.ts';
import { parseRunSearch } from '../features/run/run-search.ts';
import { readRunSearch } from '../features/runs/filters.ts';
import { validateSettingsSearch } from '../features/settings/search.ts';
import { readWorkflowSearch, readWorkflowsSearch } from '../features/workflows/search.ts';
import { Loading } from '../ui/loaded.tsx';
import { NotFound, PageError } from './page-states.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('../features/home/home-page.tsx'), 'HomePage'),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: readRunSearch,
  component: lazyRouteComponent(() => import('../features/runs/runs-page.tsx'), 'RunsPage'),
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  validateSearch: parseRunSearch,
  component: lazyRouteComponent(() => import('../features/run/run-page.tsx'), 'RunPage'),
});
const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: readApprovalsSearch,
  component: lazyRouteComponent(() => import('../features/approvals/approvals-page.tsx'), 'ApprovalsPage'),
});
const approval = createRoute({
  getParentRoute: () => root,
  path: '/approvals/$approvalId',
  component: lazyRouteComponent(() => import('../features/approvals/approval-page.tsx'), 'ApprovalPage'),
});
const nodes = createRoute({
  getParentRoute: () => root,
  path: '/nodes',
  validateSearch: readNodesSearch,
  component: lazyRouteComponent(() => import('../features/nodes/nodes-page.tsx'), 'NodesPage'),
});
const node = createRoute({
  getParentRoute: () => root,
  path: '/nodes/$nodeId/{-$tab}',
  validateSearch: readNodeSearch,
  component: lazyRouteComponent(() => import('../features/nodes/node-page.tsx'), 'NodePage'),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  validateSearch: readInboxSearch,
  component: lazyRouteComponent(() => import('../features/inbox/inbox-page.tsx'), 'InboxPage'),
});
const workflows = createRoute({
  getParentRoute: () => root,
  path: '/workflows',
  validateSearch: readWorkflowsSearch,
  component: lazyRouteComponent(() => import('../features/workflows/workflows-page.tsx'), 'WorkflowsPage'),
});
const workflow = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$workflowId/{-$tab}',
  validateSearch: readWorkflowSearch,
  component: lazyRouteComponent(() => import('../features/workflows/workflow-page.tsx'), 'WorkflowPage'),
});
const sequences = createRoute({
  getParentRoute: () => root,
  path: '/sequences',
  component: lazyRouteComponent(() => import('../features/sequences/sequences-page.tsx'), 'SequencesPage'),
});
const sequence = createRoute({
  getParentRoute: () => root,
  path: '/sequences/$sequenceId',
  component: lazyRouteComponent(() => import('../features/sequences/sequence-page.tsx'), 'SequencePage'),
});
const agents = createRoute({
  getParentRoute: () => root,
  path: '/agents',
  component: lazyRouteComponent(() => import('../features/agents/agents-page.tsx'), 'AgentsPage'),
});
const agent = createRoute({
  getParentRoute: () => root,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('../features/agents/agent-page.tsx'), 'AgentPage'),
});
const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  component: lazyRouteComponent(() => import('../features/sessions/sessions-page.tsx'), 'SessionsPage'),
});
const sessionDetail = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$sessionId',
  component: lazyRouteComponent(() => import('../features/sessions/session-page.tsx'), 'SessionPage'),
});
const schedules = createRoute({
  getParentRoute: () => root,
  path: '/schedules',
  component: lazyRouteComponent(() => import('../features/schedules/schedules-page.tsx'), 'SchedulesPage'),
});
const packs = createRoute({
  getParentRoute: () => root,
  path: '/packs',
  component: lazyRouteComponent(() => import('../features/packs/packs-page.tsx'), 'PacksPage'),
});
const knowledge = createRoute({
  getParentRoute: () => root,
  path: '/knowledge',
  component: lazyRouteComponent(() => import('../features/knowledge/knowledge-page.tsx'), 'KnowledgePage'),
});
const calls = createRoute({
  getParentRoute: () => root,
  path: '/calls',
  validateSearch: callFiltersOf,
  component: lazyRouteComponent(() => import('../features/calls/calls-page.tsx'), 'CallsPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings/{-$section}',
  validateSearch: validateSettingsSearch,
  component: lazyRouteComponent(() => import('../features/settings/settings-page.tsx'), 'SettingsPage'),
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
    packs,
    knowledge,
    calls,
    settings,
  ]),
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageError,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
