import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, named, text } from '../common.ts';
import { defineResource } from '../define.ts';
import { runStatuses } from './run-status.ts';
import { stepRetry, stepTimeoutSeconds } from './steps.ts';

const manage = {
  tag: 'Skills',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

/** What a skill does, for programs and translations. */
const skillEffects = [
  'starts_run',
  'changes_node',
  'reads_node',
  'reads_workspace',
  'changes_workspace',
  'reaches_out_safely',
  'reaches_out_once',
] as const;
export type SkillEffect = (typeof skillEffects)[number];
export const skillEffect = z
  .enum(skillEffects)
  .describe('The same as `effect`, for programs and translations. `reaches_out_safely`: a repetition is harmless');

const skill = named(
  'Skill',
  z.object({
    id: z.string().meta({ example: 'memory.write' }).describe('Stable id, used as `skillId` in steps'),
    title: z.string().describe('Display name of the skill'),
    summary: z.string().describe('Human-readable summary of what the skill does and requires'),
    requires: z.array(z.string()).describe('Entitlements that the workspace must have'),
    effect: z.string().describe('Human-readable description of the effect of the skill'),
    effectType: skillEffect,
    needsApproval: z
      .boolean()
      .describe('Whether each use requires an approval in this workspace: always, or by its current policy'),
    input: jsonObject.describe('JSON Schema of its input'),
    output: jsonObject.describe('JSON Schema of its output; later versions may add fields'),
  }),
);

export const skills = defineResource({
  listAutomationSkillCatalog: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/skills/catalog',
    compressible: true,
    summary: 'List the skills of the hub',
    description: 'Skills that steps, agents and direct calls can use, sorted by id.',
    response: z.object({ skills: z.array(skill).describe('All skills of this hub') }),
  },
  runAutomationSkill: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/skills/{skillId}/run',
    summary: 'Run a skill',
    description:
      'Creates a durable run with one step, subject to the same policy, approvals, entitlements and environment as any run. The input is passed to the skill unchanged; templates are not resolved. Get the run to read the output; use `waitSeconds` to wait for it.',
    params: z.strictObject({ skillId: text(1, 100) }),
    body: z
      .strictObject({
        input: jsonObject.default({}).describe('Input, as the catalog describes it'),
        timeoutSeconds: stepTimeoutSeconds.optional().describe('Timeout of each attempt, in seconds'),
        retry: stepRetry.optional().describe('Retry policy; the policy of the skill when omitted'),
      })
      .meta({ example: { input: { key: 'customer:42', value: { tone: 'friendly' } } } }),
    bodyOptional: true,
    response: z.object({
      runId: id.describe('Id of the run that was started'),
      status: z.enum(runStatuses).describe('Status of the run at the time of the response'),
      workflowId: id.describe('Workflow that lists the runs of this skill'),
    }),
    errors: ['product_not_entitled', 'workspace_limit_reached', 'workflow_limit_reached', 'queued_runs_limit_reached'],
  },
});
