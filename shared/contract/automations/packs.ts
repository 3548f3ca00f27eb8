import { z } from 'zod';
import { jsonObject, jsonValue } from '../../json.ts';
import { id, listQuery, name, named, page, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { workflow } from './workflows.ts';

const manage = {
  tag: 'Skill packs',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

export const nodePowers = ['ping', 'screen', 'camera', 'audio', 'files', 'browser', 'system'] as const;
export type NodePower = (typeof nodePowers)[number];

const packId = text(1, 100)
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by hyphens')
  .meta({ example: 'site-uptime-watch' });
const version = z
  .string()
  .regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/, 'must be a version such as 1.0.0')
  .meta({ example: '1.0.0' });

const inputProperty = z.strictObject({
  type: z.enum(
    ['string', 'number', 'integer', 'boolean', 'array'],
    'must be string, number, integer, boolean or array',
  ),
  title: text(1, 200),
  description: text(0, 1000).optional(),
  format: z
    .enum(['uri', 'email', 'uuid', 'node', 'timezone', 'cron'], 'must be uri, email, uuid, node, timezone or cron')
    .optional(),
  enum: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .max(100)
    .optional(),
  default: jsonValue.optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  items: z.strictObject({ type: z.enum(['string', 'number']) }).optional(),
});

export const packManifest = z.strictObject({
  id: packId,
  name,
  version,
  publisher: name,
  summary: text(1, 1000),
  inputsSchema: z.strictObject({
    type: z.literal('object').default('object'),
    properties: z
      .record(text(1, 60).regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'must be a name of letters, digits and _'), inputProperty)
      .default({}),
    required: z
      .array(text(1, 60))
      .max(50)
      .default([])
      .meta({ example: ['url'] }),
  }),
  skills: z.array(text(1, 100)).max(50).describe('Every skill that its graph uses'),
  hosts: z
    .array(text(1, 253))
    .max(50)
    .default([])
    .describe(
      "Hosts that it calls or opens: a name, with its port unless that is its scheme's own, or `inputs.<name>` for the host of an input of format uri",
    ),
  secrets: z.array(text(1, 100)).max(20).default([]).describe('Names of inputs that hold a secret'),
  nodePowers: z
    .array(z.enum(nodePowers, `must be one of ${nodePowers.join(', ')}`))
    .default([])
    .describe('What it does on a companion node'),
  graph: z.strictObject({
    trigger: jsonObject.describe('As triggerJson of a workflow; {{inputs.<name>}} stands for an input'),
    steps: z
      .array(jsonObject)
      .min(1, 'must have at least one step')
      .max(100)
      .describe('As stepsJson of a workflow; a step with `ifInput` is left out where that input is empty'),
  }),
});
export type PackManifest = z.output<typeof packManifest>;

const grants = named(
  'PackGrants',
  z.object({
    skills: z.array(
      z.object({ id: z.string().meta({ example: 'memory.write' }), title: z.string(), effect: z.string() }),
    ),
    hosts: z.array(z.string()),
    secrets: z.array(z.string()),
    nodePowers: z.array(z.enum(nodePowers)),
    approvals: z.boolean().describe('Whether a person approves something in each run'),
  }),
);
export type PackGrants = z.output<typeof grants>;

const pack = named(
  'Pack',
  packManifest.extend({
    source: z
      .enum(['shipped', 'hub', 'published'])
      .describe(
        '`shipped` comes with Outrigger, `hub` was published by the operator for all workspaces, `published` by this workspace',
      ),
    installedVersion: z.string().nullable().describe('Version that is installed in this workspace'),
  }),
);
export type Pack = z.output<typeof pack>;

const problem = z.object({
  path: z.string().meta({ example: 'manifest.graph.steps[0].skillId' }),
  message: z.string(),
});
const packParams = z.strictObject({ packId });

const hubPack = named(
  'HubPack',
  z.object({
    id,
    packId: z.string().meta({ example: 'site-uptime-watch' }),
    version: z.string().meta({ example: '1.0.0' }),
    manifest: packManifest,
    createdAt: z.iso.datetime(),
    withdrawnAt: z.iso
      .datetime()
      .nullable()
      .describe('Since then workspaces can no longer install this version; null while they can'),
  }),
);
export type HubPack = z.output<typeof hubPack>;
const operator = { tag: 'Skill packs', callers: ['platform'] } as const;

export const packs = defineResource({
  listAutomationSkills: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/skills',
    compressible: true,
    summary: 'List skill packs',
    query: listQuery,
    response: page(pack),
  },
  installAutomationSkill: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/skills/install',
    summary: 'Install a pack',
    description:
      'Answers what the pack may do; with `dryRun` it only shows that. A pack whose graph does more than it declares is refused.',
    body: z.strictObject({
      packId,
      version: version.optional().describe('The newest when left out'),
      dryRun: z.boolean().default(false),
    }),
    response: z.object({ pack, grants, installed: z.boolean() }),
    errors: ['not_found', 'pack_invalid', 'product_not_entitled'],
  },
  createAutomationSkillWorkflow: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/skills/{packId}/workflow',
    summary: 'Make a workflow from an installed pack',
    description:
      'Its runs use the skills and call the hosts that the pack declares, with the hosts of these inputs, and no others, whatever it is edited to and its templates bring: a step that would fails with `pack_grant_exceeded`. A workflow that is older than such grants may do nothing, and its steps fail with `pack_not_granted`; make it anew.',
    params: packParams,
    body: z.strictObject({ name: name.optional(), inputs: jsonObject.default({}), active: z.boolean().default(true) }),
    bodyOptional: true,
    response: workflow,
    errors: [
      'pack_not_installed',
      'pack_invalid',
      'workflow_invalid',
      'product_not_entitled',
      'workspace_limit_reached',
    ],
  },
  getAutomationSkillSdk: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/skills/sdk',
    compressible: true,
    summary: 'The schema of packs, and every skill that they may use',
    response: z.object({
      schemaVersion: z.literal(1),
      manifest: jsonObject.describe('JSON Schema of a pack'),
      skills: z.array(
        z.object({
          id: z.string().meta({ example: 'memory.write' }),
          title: z.string(),
          summary: z.string(),
          requires: z.array(z.string()),
          effect: z.string(),
          needsApproval: z.boolean().describe('Whether a person approves each use, whatever the policy'),
          allowedInPacks: z.boolean(),
          input: jsonObject.describe('JSON Schema of its input'),
          output: jsonObject.describe('JSON Schema of its output'),
        }),
      ),
    }),
  },
  postAutomationSkillSdk: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/skills/sdk',
    summary: 'Check a pack, or publish it in this workspace',
    description: 'Without `publish` every problem is listed with its path. A version that was published never changes.',
    body: z.strictObject({ manifest: jsonObject, publish: z.boolean().default(false) }),
    response: z.object({
      valid: z.boolean(),
      errors: z.array(problem),
      grants: grants.nullable(),
      published: z
        .object({
          id,
          packId: z.string().meta({ example: 'site-uptime-watch' }),
          version: z.string().meta({ example: '1.0.0' }),
        })
        .nullable(),
    }),
    errors: ['pack_invalid', 'conflict', 'workspace_limit_reached'],
  },
  listHubPacks: {
    ...operator,
    method: 'GET',
    path: '/platform/packs',
    summary: 'List the packs published for all workspaces (platform admin key)',
    description: 'Every version, also withdrawn ones, newest first.',
    query: listQuery,
    response: page(hubPack),
  },
  publishHubPack: {
    ...operator,
    method: 'POST',
    path: '/platform/packs',
    summary: 'Publish a pack for all workspaces (platform admin key)',
    description:
      'Every workspace can list and install the pack. A published version never changes: raise the version for a change. A workspace that published a pack with the same id itself keeps using its own. A hub holds 500 versions.',
    body: z.strictObject({ manifest: jsonObject.describe('As `manifest` of `POST /v1/automations/skills/sdk`') }),
    response: z.object({ pack: hubPack, grants }),
    errors: ['pack_invalid', 'conflict'],
  },
  withdrawHubPack: {
    ...operator,
    method: 'DELETE',
    path: '/platform/packs/{packId}/versions/{version}',
    summary: 'Withdraw a version of a pack from all workspaces (platform admin key)',
    description:
      'Workspaces can no longer install the version. Where it is installed, it and its workflows stay. A withdrawn version cannot be published again.',
    params: z.strictObject({ packId, version: text(1, 20).meta({ example: '1.0.0' }) }),
    response: hubPack,
    errors: ['not_found'],
  },
});
