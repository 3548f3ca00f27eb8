import type { Scene } from './dashboard-scene.ts';

const settingsSections = [
  'profile',
  'members',
  'entitlements',
  'chat',
  'chat-ai',
  'channels',
  'policy',
  'carriers',
  'models',
  'ai-usage',
  'tokens',
  'webhooks',
  'origins',
  'audit',
  'usage-events',
];

/**
 * The pages of the dashboard, and those to sign in and sign up, by the names of their pictures. Each route has at least
 * one.
 */
export const pagesOf = (scene: Omit<Scene, keyof AsyncDisposable>): Record<string, string> => {
  const { runId, agentRunId, approvalId, nodeId, conversationId, workflowId, scheduleId } = scene;
  const { agentId, sequenceId, sessionId, packId, webhookId, channelId } = scene;
  return {
    home: '/app',
    runs: '/app/runs',
    run: `/app/runs/${runId}`,
    'run-turns': `/app/runs/${agentRunId}?step=1&tab=turns`,
    'run-logs': `/app/runs/${runId}?view=logs`,
    'run-search': `/app/runs/${runId}?view=logs&q=order`,
    'run-input': `/app/runs/${runId}?view=input`,
    'run-related': `/app/runs/${runId}?view=related`,
    approvals: '/app/approvals',
    approval: `/app/approvals/${approvalId}`,
    inbox: `/app/inbox?conversation=${conversationId}`,
    nodes: '/app/nodes',
    node: `/app/nodes/${nodeId}`,
    'node-permissions': `/app/nodes/${nodeId}/permissions`,
    'node-commands': `/app/nodes/${nodeId}/commands`,
    'node-console': `/app/nodes/${nodeId}/console`,
    workflows: '/app/workflows',
    workflow: `/app/workflows/${workflowId}`,
    'workflow-new': '/app/workflows/new',
    'workflow-edit': `/app/workflows/${workflowId}/edit`,
    'workflow-runs': `/app/workflows/${workflowId}/runs`,
    'workflow-versions': `/app/workflows/${workflowId}/versions`,
    'workflow-version': `/app/workflows/${workflowId}/versions?version=1`,
    'workflow-settings': `/app/workflows/${workflowId}/settings`,
    sequences: '/app/sequences',
    sequence: `/app/sequences/${sequenceId}`,
    schedules: '/app/schedules',
    schedule: `/app/schedules/${scheduleId}`,
    agents: '/app/agents',
    agent: `/app/agents/${agentId}`,
    sessions: '/app/sessions',
    session: `/app/sessions/${sessionId}`,
    packs: '/app/packs',
    pack: `/app/packs/${packId}`,
    knowledge: '/app/knowledge',
    calls: '/app/calls',
    settings: '/app/settings',
    ...Object.fromEntries(settingsSections.map((section) => [`settings-${section}`, `/app/settings/${section}`])),
    'settings-webhook': `/app/settings/webhooks?id=${webhookId}`,
    'settings-channel': `/app/settings/channels?id=${channelId}`,
    'not-found': '/app/no-such-page',
    // Pages of the hub around the dashboard.
    'sign-in': '/sign-in',
    'sign-up': '/sign-up',
    'forgot-password': '/forgot-password',
    'reset-password': '/reset-password',
    password: '/password',
    join: '/join',
  };
};
