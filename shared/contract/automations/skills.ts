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

const skill = named(
  'Skill',
  z.object({
    id: z.string().meta({ example: 'memory.write' }).describe('Stable id, which steps name as `skillId`'),
    title: z.string().describe('Title, for people'),
    summary: z.string().describe('What it does and what it needs, for people'),
    requires: z.array(z.string()).describe('What the workspace must be entitled to'),
    effect: z.string().describe('What it does to the world, for people'),
    needsApproval: z
      .boolean()
      .describe('Whether a person approves each use in this workspace: always, or by its policy as it is now'),
    input: jsonObject.describe('JSON Schema of its input'),
    output: jsonObject.describe('JSON Schema of its output; a later version may add to it'),
  }),
);

export const skills = defineResource({
  listAutomationSkillCatalog: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/skills/catalog',
    compressible: true,
    summary: 'Every skill of this hub',
    description: 'What a step, an agent or a call of its own can use, in the order of their ids.',
    response: z.object({ skills: z.array(skill).describe('All skills of this hub') }),
  },
  runAutomationSkill: {
    ...manage,
    permission: 'automations:run',
    method: 'POST',
    path: '/v1/automations/skills/{skillId}/run',
    summary: 'Run one skill by itself',
    description:
      'A run like any other, of one step: durable, and under the same policy, approvals, entitlements and environment. The input is what the skill gets as it stands; nothing in it is a template. Read the output from the run, with `waitSeconds` to wait for it.',
    params: z.strictObject({ skillId: text(1, 100) }),
    body: z
      .strictObject({
        input: jsonObject.default({}).describe('As the catalogue says'),
        timeoutSeconds: stepTimeoutSeconds.optional().describe('For each try'),
        retry: stepRetry.optional().describe('As the skill has it when left out'),
      })
      .meta({ example: { input: { key: 'customer:42', value: { tone: 'friendly' } } } }),
    bodyOptional: true,
    response: z.object({
      runId: id.describe('Id of the run that was started'),
      status: z.enum(runStatuses).describe('Status of the run when the answer was written'),
      workflowId: id.describe('Workflow under which runs of this skill are listed'),
    }),
    errors: ['product_not_entitled', 'workspace_limit_reached', 'workflow_limit_reached', 'queued_runs_limit_reached'],
  },
});
