import type { SettingsEvent } from '../../../../shared/client/operations.ts';
import type { OperationId } from './api.ts';
import type { WorkspaceEvent } from './live-events.ts';

/** Lists and counts that are read again after events of a type. Pages that show single objects patch them themselves. */
const listsOfType: Partial<Record<string, readonly OperationId[]>> = {
  approval: ['listAutomationApprovalSummaries'],
  node: ['listAutomationNodes'],
  workflow: [
    'listAutomationWorkflowSummaries',
    'listAutomationWorkflows',
    'listDeletedAutomationWorkflows',
    'listAutomationWorkflowVersions',
  ],
  agent: ['listAutomationAgents', 'getAutomationAgent'],
  sequence: ['listAutomationSequences', 'getAutomationSequence'],
  channel: ['listAutomationChannels', 'getAutomationChannel'],
  webhook: ['listWebhooks', 'getWebhook'],
};

const listsOfSetting: Record<SettingsEvent['setting'], readonly OperationId[]> = {
  policy: ['getAutomationPolicy'],
  models: ['getAutomationModels'],
  tool_profiles: ['listAutomationToolProfiles', 'getAutomationToolProfile'],
  chat: ['getChatSettings'],
  chat_ai: ['getChatAiSettings'],
  knowledge: ['getKnowledge'],
  ai_budget: ['getAiBudget'],
  members: ['listMembers'],
  invitations: ['listInvitations'],
  tokens: ['listApiTokens'],
  origins: ['getAllowedOrigins'],
  entitlements: ['readEntitlements'],
  workspace: ['readMe'],
  call_connections: ['listCallConnections'],
  sip: ['getHostedSip', 'getSipStatus'],
};

/** What is read again after an event. */
export function listsOf(event: WorkspaceEvent): readonly OperationId[] {
  if (event.type !== 'settings') return listsOfType[event.type] ?? [];
  // A newer hub may announce further settings.
  const lists: Partial<Record<string, readonly OperationId[]>> = listsOfSetting;
  return lists[String(event['setting'])] ?? [];
}
