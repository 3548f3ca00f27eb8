import { z } from 'zod';
import { matchesGlob } from '../../shared/glob.ts';
import type { JsonObject } from '../../shared/json.ts';
import { describeEffect } from './skill.ts';
import type { Skill, SkillCatalog } from './skill.ts';

/** A skill as the SDK shows it. */
export interface SdkSkill {
  id: string;
  title: string;
  summary: string;
  requires: readonly string[];
  effect: string;
  input: JsonObject;
}

/** The skills of this hub: each product adds its own when it is put together, and whoever looks one up does so later. */
export class SkillRegistry implements SkillCatalog {
  readonly #skills = new Map<string, Skill>();

  /** @throws Error when there is a skill of that id. */
  add(skills: readonly Skill[]): void {
    for (const skill of skills) {
      if (this.#skills.has(skill.id)) throw new Error(`the skill ${skill.id} is declared twice`);
      this.#skills.set(skill.id, skill);
    }
  }

  find(skillId: string): Skill | undefined {
    return this.#skills.get(skillId);
  }

  list(): readonly Skill[] {
    return [...this.#skills.values()];
  }
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
