import { z } from 'zod';
import { jsonObject, jsonValue } from '../../json.ts';
import { id, listQuery, name, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { skillEffect } from './skills.ts';
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
  id: packId.describe('Lower-case words joined by hyphens, at most 100 characters'),
  name: name.describe('Display name, at most 200 characters'),
  version: version.describe('Three numbers such as `1.0.0`'),
  publisher: name.describe('Publisher of the pack, at most 200 characters'),
  summary: text(1, 1000).describe('Human-readable summary of what the pack does'),
  inputsSchema: z
    .strictObject({
      type: z.literal('object').default('object').describe('Always `object`'),
      properties: z
        .record(text(1, 60).regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'must be a name of letters, digits and _'), inputProperty)
        .default({})
        .describe('Inputs by name'),
      required: z
        .array(text(1, 60))
        .max(50)
        .default([])
        .meta({ example: ['url'] })
        .describe('Names of the inputs that must be given, at most 50'),
    })
    .describe('Inputs of a workflow of the pack, as a subset of JSON Schema'),
  skills: z.array(text(1, 100)).max(50).describe('Every skill that the graph uses'),
  hosts: z
    .array(text(1, 253))
    .max(50)
    .default([])
    .describe(
      'Hosts that the pack calls or opens: a name, with a port unless it is the default port, or `inputs.<name>` for the host of an input of format `uri`',
    ),
  secrets: z.array(text(1, 100)).max(20).default([]).describe('Names of inputs that contain a secret'),
  nodePowers: z
    .array(z.enum(nodePowers, `must be one of ${nodePowers.join(', ')}`))
    .default([])
    .describe('What the pack does on companion nodes'),
  graph: z
    .strictObject({
      trigger: jsonObject.describe('As `triggerJson` of a workflow; `{{inputs.<name>}}` inserts an input'),
      steps: z
        .array(jsonObject)
        .min(1, 'must have at least one step')
        .max(100)
        .describe('As `stepsJson` of a workflow; a step with `ifInput` is omitted when that input is empty'),
    })
    .describe('Trigger and steps of workflows of the pack'),
});
export type PackManifest = z.output<typeof packManifest>;

const grants = named(
  'PackGrants',
  z
    .object({
      skills: z
        .array(
          z.object({
            id: z.string().meta({ example: 'memory.write' }).describe('Id of the skill in the catalog'),
            title: z.string().describe('Display name of the skill'),
            effect: z.string().describe('Human-readable description of the effect of the skill'),
          }),
        )
        .describe('Skills that the pack calls'),
      hosts: z.array(z.string()).describe('Hosts that the pack calls or opens'),
      secrets: z.array(z.string()).describe('Names of inputs that contain a secret'),
      nodePowers: z.array(z.enum(nodePowers)).describe('What the pack does on companion nodes'),
      approvals: z.boolean().describe('Whether each run requires an approval'),
    })
    .describe('What a pack may do'),
);
export type PackGrants = z.output<typeof grants>;

const pack = named(
  'Pack',
  packManifest
    .extend({
      source: z
        .enum(['shipped', 'hub', 'published'])
        .describe(
          '`shipped`: part of the hub; `hub`: published by the operator for all workspaces; `published`: published by this workspace',
        ),
      installedVersion: z
        .string()
        .nullable()
        .describe('Version that this workspace has installed; null when it is not installed'),
    })
    .describe('A pack of the catalog'),
);
export type Pack = z.output<typeof pack>;

const packDetail = named(
  'PackDetail',
  z.object({
    ...pack.shape,
    grants: grants.nullable().describe('What the pack may do; null for a pack that this hub refuses to install'),
    versions: z
      .array(
        z.object({
          version: z.string().meta({ example: '1.0.0' }).describe('Version of the pack'),
          withdrawn: z.boolean().describe('Whether the operator withdrew it, so that it cannot be installed any more'),
        }),
      )
      .describe('Versions of the pack, newest first'),
  }),
);
export type PackDetail = z.output<typeof packDetail>;

const problem = z.object({
  path: z.string().meta({ example: 'manifest.graph.steps[0].skillId' }).describe('Location in the manifest'),
  message: z.string().describe('What the field must be'),
});
const packParams = z.strictObject({ packId });

const hubPack = named(
  'HubPack',
  z.object({
    id: id.describe('Id of the published version'),
    packId: z.string().describe('Id of the pack, as in its manifest').meta({ example: 'site-uptime-watch' }),
    version: z.string().describe('Version of the pack, as in its manifest').meta({ example: '1.0.0' }),
    manifest: packManifest.describe('The pack'),
    createdAt: timestamp.describe('When the version was published'),
    withdrawnAt: timestamp
      .nullable()
      .describe('When the version was withdrawn, so that workspaces cannot install it any more; null if it was not'),
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
    description:
      'Sorted by pack id, each with its newest version. Includes the packs of the hub and those that the workspace published, without withdrawn versions.',
    query: listQuery,
    response: page(pack),
  },
  getAutomationSkillPack: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/packs/{packId}',
    compressible: true,
    summary: 'Get a pack',
    description:
      'The newest version of a pack, with all its versions and what it may do. If every version is withdrawn, the installed one. `GET /v1/automations/workflow-summaries?pack=` lists the workflows that were created from it.',
    params: packParams,
    response: packDetail,
    errors: ['not_found'],
  },
  installAutomationSkill: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/skills/install',
    summary: 'Install a pack',
    description:
      'Returns what the pack may do. With `dryRun`, nothing is installed; a key of environment `test` needs it. A pack whose graph does more than it declares is refused.',
    body: z.strictObject({
      packId: packId.describe('Id of the pack'),
      version: version.optional().describe('Version to install; the newest when omitted'),
      dryRun: z.boolean().default(false).describe('Whether to show what the pack may do without installing it'),
    }),
    response: z.object({ pack, grants, installed: z.boolean().describe('Whether the pack is installed now') }),
    errors: ['not_found', 'pack_invalid', 'product_not_entitled', 'test_key_not_allowed'],
  },
  createAutomationSkillWorkflow: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/skills/{packId}/workflow',
    summary: 'Create a workflow from an installed pack',
    description:
      'Runs of the workflow can use only the skills and hosts that the pack declares, plus the hosts of these inputs, even after the workflow is edited. Other uses fail the step with `pack_grant_exceeded`. A workflow created before packs had grants has none: its steps fail with `pack_not_granted`. Create it again.',
    params: packParams,
    body: z.strictObject({
      name: name.optional().describe('Label of the workflow; the name of the pack when omitted'),
      inputs: jsonObject.default({}).describe('Inputs of the pack by name, as `inputsSchema` describes them'),
      active: z.boolean().default(true).describe('Whether the trigger starts runs immediately'),
    }),
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
    summary: 'Get the schema of packs and the skills that they may use',
    description:
      'The same for every workspace: `needsApproval` ignores the policy. A pack that uses a skill with `allowedInPacks: false` cannot be published.',
    response: z.object({
      schemaVersion: z.literal(1).describe('Version of the format of packs; 1 is the only one'),
      manifest: jsonObject.describe('JSON Schema of a pack'),
      skills: z
        .array(
          z.object({
            id: z.string().meta({ example: 'memory.write' }).describe('Stable id, used as `skillId` in steps'),
            title: z.string().describe('Display name of the skill'),
            summary: z.string().describe('Human-readable summary of what the skill does and requires'),
            requires: z.array(z.string()).describe('Entitlements that the workspace must have'),
            effect: z.string().describe('Human-readable description of the effect of the skill'),
            effectType: skillEffect,
            needsApproval: z.boolean().describe('Whether each use requires an approval, whatever the policy'),
            allowedInPacks: z.boolean().describe('Whether packs may use it'),
            input: jsonObject.describe('JSON Schema of its input'),
            output: jsonObject.describe('JSON Schema of its output'),
          }),
        )
        .describe('Skills of this hub'),
    }),
  },
  postAutomationSkillSdk: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/skills/sdk',
    summary: 'Validate a pack, or publish it in this workspace',
    description:
      'Without `publish`, the response lists every problem with its path. A published version never changes.',
    body: z.strictObject({
      manifest: jsonObject.describe('Manifest of the pack'),
      publish: z.boolean().default(false).describe('Whether to publish the pack when it is valid'),
    }),
    response: z.object({
      valid: z.boolean().describe('Whether the manifest is valid'),
      errors: z.array(problem).describe('Problems of the manifest; empty for a valid one'),
      grants: grants.nullable().describe('What the pack may do; null for an invalid manifest'),
      published: z
        .object({
          id: id.describe('Id of the published version'),
          packId: z.string().meta({ example: 'site-uptime-watch' }).describe('Id of the pack'),
          version: z.string().meta({ example: '1.0.0' }).describe('Version of the pack'),
        })
        .nullable()
        .describe('The published version; null when nothing was published'),
    }),
    errors: ['pack_invalid', 'conflict', 'workspace_limit_reached', 'test_key_not_allowed'],
  },
  listHubPacks: {
    ...operator,
    method: 'GET',
    path: '/platform/packs',
    summary: 'List the packs published for all workspaces (platform admin key)',
    description: 'Every version, including withdrawn ones, newest first.',
    query: listQuery,
    response: page(hubPack),
  },
  publishHubPack: {
    ...operator,
    method: 'POST',
    path: '/platform/packs',
    summary: 'Publish a pack for all workspaces (platform admin key)',
    description:
      'Every workspace can list and install the pack. A published version never changes; publish changes as a new version. A workspace that published a pack with the same id keeps using its own. A hub stores at most 500 versions.',
    body: z.strictObject({ manifest: jsonObject.describe('As `manifest` of `POST /v1/automations/skills/sdk`') }),
    response: z.object({ pack: hubPack.describe('The published version'), grants }),
    errors: ['pack_invalid', 'conflict'],
  },
  withdrawHubPack: {
    ...operator,
    method: 'DELETE',
    path: '/platform/packs/{packId}/versions/{version}',
    summary: 'Withdraw a version of a pack from all workspaces (platform admin key)',
    description:
      'Workspaces cannot install the version any more. Existing installations and their workflows stay. A withdrawn version cannot be published again.',
    params: z.strictObject({ packId, version: text(1, 20).meta({ example: '1.0.0' }) }),
    response: hubPack,
    errors: ['not_found'],
  },
});
