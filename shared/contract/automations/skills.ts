import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { named } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Skills',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

const skill = named(
  'Skill',
  z.object({
    id: z.string(),
    title: z.string(),
    summary: z.string(),
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
    method: 'GET',
    path: '/v1/automations/skills/catalog',
    summary: 'Every skill of this hub',
    description: 'What a step, an agent or a call of its own can use, in the order of their ids.',
    response: z.object({ skills: z.array(skill) }),
  },
});
