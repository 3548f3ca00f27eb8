import { z } from 'zod';
import type { SkillEffect } from '../../../shared/contract/automations/skills.ts';
import { matchesGlob } from '../../../shared/glob.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { describeEffect, effectTypeOf } from '../skill.ts';
import type { Skill, SkillCatalog } from '../skill.ts';

/** A skill as the SDK describes it. */
export interface SdkSkill {
  id: string;
  title: string;
  summary: string;
  requires: readonly string[];
  effect: string;
  effectType: SkillEffect;
  /** Whether a user must approve each call, independent of the policy of the workspace. */
  needsApproval: boolean;
  /** JSON Schema of the input. */
  input: JsonObject;
  /** JSON Schema of the output. A later version can add fields. */
  output: JsonObject;
}

/** The skills of this hub. Each product adds its skills at startup. Look-ups must come after that. */
export class SkillRegistry implements SkillCatalog {
  readonly #skills = new Map<string, Skill>();

  /** @throws Error if a skill with this id exists. */
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

/** Whether a pattern matches at least one skill. */
export const isKnownPattern = (skills: SkillCatalog, pattern: string) =>
  skills.list().some((skill) => matchesGlob(pattern, skill.id));

const descriptions = new WeakMap<Skill, SdkSkill>();

/** Describes a skill for the SDK. */
export function describeSkill(skill: Skill): SdkSkill {
  const cached = descriptions.get(skill);
  if (cached !== undefined) return cached;
  const description = {
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
  descriptions.set(skill, description);
  return description;
}

/** Describes all skills for the SDK, sorted by id. */
export const describeSkills = (skills: SkillCatalog): SdkSkill[] =>
  skills
    .list()
    .map(describeSkill)
    .toSorted((left, right) => (left.id < right.id ? -1 : 1));

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ jsonSchema: part }) {
      if (io === 'output' && part.additionalProperties === false) delete part.additionalProperties;
    },
  }) as JsonObject;
  return jsonSchema;
}
