import { knowledgeBase } from './ai/knowledge.ts';
import { modelConfigurations } from './ai/models.ts';
import { aiRuns } from './ai/runs.ts';
import { speaking } from './ai/speak.ts';
import { aiUsageResource } from './ai/usage.ts';
import { voiceRequests } from './ai/voice-request.ts';
import { agents, toolProfiles } from './automations/agents.ts';
import { approvals } from './automations/approvals.ts';
import { channels } from './automations/channels.ts';
import { deletedWorkflows } from './automations/deleted-workflows.ts';
import { flows } from './automations/flows.ts';
import { growth, growthAliases } from './automations/growth.ts';
import { insight } from './automations/insight.ts';
import { logs } from './automations/logs.ts';
import { memory } from './automations/memory.ts';
import { packs } from './automations/packs.ts';
import { policies } from './automations/policies.ts';
import { hooks, runs } from './automations/runs.ts';
import { search } from './automations/search.ts';
import { sequences } from './automations/sequences.ts';
import { sessions } from './automations/sessions.ts';
import { skills } from './automations/skills.ts';
import { workflowSummaries } from './automations/workflow-summaries.ts';
import { workflows } from './automations/workflows.ts';
import { callConnections } from './calls/connections.ts';
import { hostedSipOperations } from './calls/hosted-sip.ts';
import { ownTrunks } from './calls/own-trunk.ts';
import { callRecords } from './calls/records.ts';
import { chatAgents } from './chat/agents.ts';
import { aiSettings } from './chat/ai-settings.ts';
import { aiSuggestions } from './chat/ai-suggestions.ts';
import { cannedReplies } from './chat/canned-replies.ts';
import { chat } from './chat/chat.ts';
import { chatFiles } from './chat/files.ts';
import { inbox } from './chat/inbox.ts';
import { chatStreams } from './chat/live.ts';
import { chatPeople } from './chat/people.ts';
import { memberPictureResource } from './chat/pictures.ts';
import { visitorPage } from './chat/visitor-page.ts';
import { originResource } from './core/allowed-origins.ts';
import { audit } from './core/audit.ts';
import { events } from './core/events.ts';
import { identity } from './core/identity.ts';
import { invitations } from './core/invitations.ts';
import { ownSessions } from './core/own-sessions.ts';
import { passwordResetResource } from './core/password-resets.ts';
import { push } from './core/push.ts';
import { savedFilters } from './core/saved-filters.ts';
import { system } from './core/system.ts';
import { usageEvents } from './core/usage-events.ts';
import type { Operation } from './define.ts';
import { marketing } from './marketing/marketing.ts';
import { artifacts } from './nodes/artifacts.ts';
import { nodes } from './nodes/nodes.ts';
import { webhooks } from './webhooks/webhooks.ts';

/** Every HTTP operation of the hub, by id. WebSockets are excluded, because OpenAPI cannot describe them. */
export const api = {
  ...chat,
  ...inbox,
  ...cannedReplies,
  ...chatAgents,
  ...chatFiles,
  ...chatPeople,
  ...memberPictureResource,
  ...aiSettings,
  ...aiSuggestions,
  ...visitorPage,
  ...chatStreams,
  ...webhooks,
  ...aiRuns,
  ...speaking,
  ...voiceRequests,
  ...workflows,
  ...workflowSummaries,
  ...deletedWorkflows,
  ...sequences,
  ...runs,
  ...flows,
  ...hooks,
  ...approvals,
  ...policies,
  ...agents,
  ...toolProfiles,
  ...modelConfigurations,
  ...knowledgeBase,
  ...aiUsageResource,
  ...sessions,
  ...memory,
  ...channels,
  ...logs,
  ...skills,
  ...packs,
  ...insight,
  ...nodes,
  ...artifacts,
  ...callRecords,
  ...callConnections,
  ...ownTrunks,
  ...hostedSipOperations,
  ...growthAliases,
  ...growth,
  ...search,
  ...audit,
  ...usageEvents,
  ...events,
  ...marketing,
  ...identity,
  ...originResource,
  ...passwordResetResource,
  ...invitations,
  ...ownSessions,
  ...push,
  ...savedFilters,
  ...system,
};

export type Api = typeof api;
export type OperationId = keyof Api;

/** The operations in the order of the OpenAPI document. */
export const operations: readonly Operation[] = Object.values(api);
