import { z } from 'zod';
import { deleted, id, idParams, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const agentTag = {
  tag: 'Agents',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;
const profileTag = {
  tag: 'Tool profiles',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const routeKey = text(1, 200).describe(
  'Inbound messages that the agent answers: `channel:<channel id>`, `session:<session key>`, `<provider>`, `<provider>:<sender>`, `/<command>` for messages that begin with it, or `*`; the most specific key wins',
);

export const agent = named(
  'Agent',
  z.object({
    id: id.describe('Id of the AI agent'),
    name: z.string().describe('Display name, at most 200 characters'),
    systemPrompt: z.string().describe('Instructions for the model, at most 50,000 characters'),
    toolProfileId: id.nullable().describe('Tool profile with the skills that the agent may call; null for none'),
    routeKeys: z.array(z.string()).describe('Keys that route inbound messages to this agent, at most 50'),
    model: z.string().nullable().describe('Id of a model of the workspace; null for the failover order'),
    version: z.int().min(1).describe('Version, from 1; each change increases it'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type Agent = z.output<typeof agent>;

const agentFields = {
  name: name.describe('Display name, 1 to 200 characters'),
  systemPrompt: text(0, 50_000).describe('Instructions for the model, at most 50,000 characters'),
  toolProfileId: id.nullable().describe('Tool profile with the skills that the agent may call; null for none'),
  routeKeys: z.array(routeKey).max(50).describe('Keys that route inbound messages to this agent, at most 50'),
  model: text(1, 100).nullable().describe('Id of a model of the workspace; null for the failover order'),
};

export const createAgentBody = named(
  'CreateAgent',
  z.strictObject({
    ...agentFields,
    systemPrompt: agentFields.systemPrompt.default(''),
    toolProfileId: agentFields.toolProfileId.default(null),
    routeKeys: agentFields.routeKeys.default([]),
    model: agentFields.model.default(null),
  }),
);
export const updateAgentBody = named(
  'UpdateAgent',
  z
    .strictObject(agentFields)
    .partial()
    .refine((body) => Object.values(body).some((value) => value !== undefined), 'give at least one field'),
  { model: 'main' },
);

export const agents = defineResource({
  listAutomationAgents: {
    ...agentTag,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/agents',
    summary: 'List agents',
    description:
      'Newest first, with their system prompts. Agents have no environment: live and test keys see the same ones.',
    query: listQuery,
    response: page(agent),
  },
  createAutomationAgent: {
    ...agentTag,
    method: 'POST',
    path: '/v1/automations/agents',
    summary: 'Create an agent',
    description:
      '`toolProfileId` and `model` must exist in the workspace. Inbound messages that match `routeKeys` can reach the agent immediately; of several agents with the same key, the oldest answers.',
    body: createAgentBody,
    response: agent,
    errors: ['workspace_limit_reached', 'test_key_not_allowed'],
  },
  getAutomationAgent: {
    ...agentTag,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/agents/{id}',
    summary: 'Get an agent',
    description: '`ETag` is the version. Send it as `If-Match` with an update.',
    params: idParams,
    response: agent,
  },
  updateAutomationAgent: {
    ...agentTag,
    liveOnly: true,
    method: 'PATCH',
    path: '/v1/automations/agents/{id}',
    summary: 'Update an agent',
    description:
      'Omitted fields do not change; `ETag` is the new version. Agent steps that start or continue later use the new values, also in runs in progress.',
    ifMatch: 'version_conflict',
    params: idParams,
    body: updateAgentBody,
    response: agent,
  },
  deleteAutomationAgent: {
    ...agentTag,
    liveOnly: true,
    method: 'DELETE',
    path: '/v1/automations/agents/{id}',
    summary: 'Delete an agent',
    description:
      'Steps that name the agent fail with `unknown_agent`, also in runs in progress. Inbound messages go to the next agent with a matching route key.',
    params: idParams,
    response: deleted,
  },
});

const globs = z
  .array(
    text(1, 100).regex(/^[a-z0-9_.*-]+$/i, 'must be a skill id such as memory.read, or a pattern such as browser.*'),
  )
  .max(200);

export const toolProfile = named(
  'ToolProfile',
  z.object({
    id: id.describe('Id of the tool profile'),
    name: z.string().describe('Display name, at most 200 characters'),
    allow: z.array(z.string()).describe('Ids or patterns of skills that may be called; `*` matches any part of a name'),
    deny: z
      .array(z.string())
      .describe('Ids or patterns of skills that may not be called; takes precedence over `allow`'),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
);
export type ToolProfile = z.output<typeof toolProfile>;

export const putToolProfileBody = named(
  'PutToolProfile',
  z.strictObject({
    id: id.optional().describe('Updates this profile; creates a new one when omitted'),
    name: name.describe('Display name, 1 to 200 characters'),
    allow: globs.describe('Ids or patterns of skills that may be called; `*` matches any part of a name'),
    deny: globs.default([]).describe('Ids or patterns of skills that may not be called; takes precedence over `allow`'),
  }),
);

/** Partial update of a tool profile. */
export const patchToolProfileBody = z
  .strictObject({ name: name.optional(), allow: globs.optional(), deny: globs.optional() })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'must have at least one of name, allow, deny',
  );

export const toolProfiles = defineResource({
  listAutomationToolProfiles: {
    ...profileTag,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/tool-profiles',
    summary: 'List tool profiles',
    description:
      'Newest first. `GET /v1/automations/skills/catalog` lists the skills that `allow` and `deny` can match.',
    query: listQuery,
    response: page(toolProfile),
  },
  putAutomationToolProfile: {
    ...profileTag,
    liveOnly: true,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/tool-profiles',
    summary: 'Create or update a tool profile',
    description:
      'With `id`, replaces `name`, `allow` and `deny` of that profile; an omitted `deny` becomes empty. Each entry of `allow` must match a skill of the hub, and agents use a change in their next step.',
    body: putToolProfileBody,
    response: toolProfile,
    errors: ['not_found', 'workspace_limit_reached'],
  },
  getAutomationToolProfile: {
    ...profileTag,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/tool-profiles/{id}',
    summary: 'Get a tool profile',
    description: 'Tool profiles have no version: of two concurrent updates, the last one is kept.',
    params: idParams,
    response: toolProfile,
  },
  deleteAutomationToolProfile: {
    ...profileTag,
    liveOnly: true,
    role: 'admin',
    method: 'DELETE',
    path: '/v1/automations/tool-profiles/{id}',
    summary: 'Delete a tool profile',
    description:
      'Refused while an agent uses the profile. Steps that name the profile themselves fail with `unknown_tool_profile`.',
    params: idParams,
    response: deleted,
    errors: ['conflict'],
  },
});
