import { z } from 'zod';
import { matchesGlob } from '../../shared/glob.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { Ai } from '../modules/ai/index.ts';
import type { Channels } from '../modules/channels/index.ts';
import type { Email } from '../modules/email/index.ts';
import type { Insight } from '../modules/insight/index.ts';
import type { Marketing } from '../modules/marketing/index.ts';
import type { Memory } from '../modules/memory/index.ts';
import type { SdkSkill } from '../modules/packs/index.ts';
import type { Runs } from '../modules/runs/index.ts';
import type { Deliveries } from '../modules/webhooks/index.ts';
import { aiSkills } from './ai.ts';
import { describeEffect } from './define.ts';
import type { Skill, SkillCatalog } from './define.ts';
import { logSkills } from './log.ts';
import { memorySkills } from './memory.ts';
import { messageSkills } from './message.ts';
import { nodeSkills } from './node.ts';
import { runSkills } from './run.ts';
import { webhookSkills } from './webhook.ts';

export interface SkillFaces {
  runs: Pick<Runs, 'appendLog'>;
  memory: Memory;
  deliveries: Deliveries;
  ai: Ai;
  email: Email;
  channels: Channels;
  marketing: Marketing;
  insight: Insight;
}

/** Every skill of this hub. */
export function createSkillCatalog(faces: SkillFaces): SkillCatalog {
  const skills: Skill[] = [
    ...logSkills(faces.runs),
    ...aiSkills(faces.ai),
    ...messageSkills(faces),
    ...memorySkills(faces.memory),
    ...webhookSkills(faces.deliveries),
    ...runSkills(faces.insight),
    ...nodeSkills(),
  ];
  const byId = new Map(skills.map((skill) => [skill.id, skill]));
  return { find: (skillId) => byId.get(skillId), list: () => skills };
}

/** Whether a pattern names at least one skill. */
export const isKnownPattern = (skills: SkillCatalog, pattern: string) =>
  skills.list().some((skill) => matchesGlob(pattern, skill.id));

/** A skill as the SDK shows it. */
export function describeSkill(skill: Skill): SdkSkill {
  const { $schema: _dialect, ...input } = z.toJSONSchema(skill.input, {
    io: 'input',
    unrepresentable: 'any',
  }) as JsonObject;
  return {
    id: skill.id,
    title: skill.title,
    summary: skill.summary,
    requires: skill.requires,
    effect: describeEffect(skill),
    input,
  };
}
