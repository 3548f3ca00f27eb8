import { z } from 'zod';
import type { SkillEffect } from '../../../shared/contract/automations/skills.ts';
import { matchesGlob } from '../../../shared/glob.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { describeEffect, effectTypeOf } from '../skill.ts';
import type { Skill, SkillCatalog } from '../skill.ts';

/** A skill as the SDK shows it. */
export interface SdkSkill {
  id: string;
  title: string;
  summary: string;
  requires: readonly string[];
  effect: string;
  effectType: SkillEffect;
  /** Whether a person must approve each use, whatever the policy of the workspace. */
  needsApproval: boolean;
  /** JSON Schema of what it takes. */
  input: JsonObject;
  /** JSON Schema of what it puts out; a later version may add to it. */
  output: JsonObject;
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

const described = new WeakMap<Skill, SdkSkill>();

/** A skill as the SDK shows it. */
export function describeSkill(skill: Skill): SdkSkill {
  const known = described.get(skill);
  if (known !== undefined) return known;
  const made = {
    id: skill.id,
    title: skill.title,
    summary: skill.summary,
    requires: skill.requires,
    effect: describeEffect(skill),
    effectType: effectTypeOf(skill),
    needsApproval: skill.kind === 'node' && skill.command.needsApproval,
    input: jsonSchemaOf(skill.input, 'input'),
    output: jsonSchemaOf(skill.output, 'output'),
  };
  described.set(skill, made);
  return made;
}

/** Each skill as the SDK shows it, by id. */
export const describeSkills = (skills: SkillCatalog): SdkSkill[] =>
  skills
    .list()
    .map(describeSkill)
    .toSorted((left, right) => (left.id < right.id ? -1 : 1));

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, ...found } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema }) {
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as JsonObject;
  return found;
}
