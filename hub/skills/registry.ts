import type { Memory } from '../modules/memory/index.ts';
import type { Runs } from '../modules/runs/index.ts';
import type { Deliveries } from '../modules/webhooks/index.ts';
import type { Skill, SkillCatalog } from './define.ts';
import { logSkills } from './log.ts';
import { memorySkills } from './memory.ts';
import { nodeSkills } from './node.ts';
import { webhookSkills } from './webhook.ts';

/** Every skill of this hub. */
export function createSkillCatalog(faces: { runs: Pick<Runs, 'appendLog'>; memory: Memory; deliveries: Deliveries }): SkillCatalog {
  const skills: Skill[] = [...logSkills(faces.runs), ...memorySkills(faces.memory), ...webhookSkills(faces.deliveries), ...nodeSkills()];
  const byId = new Map(skills.map((skill) => [skill.id, skill]));
  return { find: (skillId) => byId.get(skillId), list: () => skills };
}
