import { replyToolReferences } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatAiTool } from '../../../../shared/contract/chat/ai-settings.ts';
import type { Entitlement } from '../../../../shared/contract/define.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';
import { estimateTokens } from '../../../platform/inference/token-estimate.ts';
import { resolveTool, describeTools } from './tool.ts';

/** Values of a conversation that the texts of `fixed` may reference. */
export type ToolScope = Record<(typeof replyToolReferences)[number], string | null>;

const reference = /\{\{([^{}]*)\}\}/g;
const maxFixedCharacters = 4_000;
/** Tokens of the prompt that describe tools. */
export const maxToolsTokens = 1_500;

const isKnown = (name: string): name is keyof ToolScope => (replyToolReferences as readonly string[]).includes(name);

function textsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/**
 * Replaces the references in `fixed` by the values of a conversation. Returns null if a value is missing.
 * References inside the inserted values are not replaced.
 */
export function fill(fixed: JsonObject, scope: ToolScope): JsonObject | null {
  let hasAll = true;
  const filled = (value: JsonValue): JsonValue => {
    if (typeof value === 'string')
      return value.replaceAll(reference, (_all, inner: string) => {
        const name = inner.trim();
        const found = isKnown(name) ? scope[name] : null;
        if (found === null) hasAll = false;
        return found ?? '';
      });
    if (Array.isArray(value)) return value.map(filled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item)]));
  };
  const result = filled(fixed) as JsonObject;
  return hasAll ? result : null;
}

/**
 * Rejects tools that the AI agent could not call, or that would let the visitor choose which data is read.
 * @throws AppError `validation_failed`, `product_not_entitled`.
 */
export function assertTools(
  tools: readonly ChatAiTool[],
  skills: SkillCatalog,
  entitlements: Record<Entitlement, boolean>,
): void {
  tools.forEach(({ name, skillId, fixed }, index) => {
    const at = `tools[${index}]`;
    const duplicateOf = tools.findIndex((tool) => tool.name === name);
    if (duplicateOf !== index)
      throw invalidBody(`${at}.name`, `is also the name of tools[${duplicateOf}]; each tool needs its own name`);
    const skill = skills.find(skillId);
    if (skill === undefined)
      throw invalidBody(
        `${at}.skillId`,
        'is not a skill of this hub; GET /v1/automations/skills/catalog lists the available skills',
      );
    const missing = skill.requires.find((entitlement) => !entitlements[entitlement]);
    if (missing !== undefined)
      throw new AppError(
        'product_not_entitled',
        `This workspace is not entitled to ${missing}, which body.${at}.skillId (${skillId}) needs.`,
      );
    assertFixed(at, fixed, Object.keys(skill.input.shape));
    const reading = skill.kind === 'direct' ? skill.reading : undefined;
    const unsetField = reading?.scope.find(
      (field) => !Object.hasOwn(fixed, field) && skill.input.shape[field]?.safeParse(undefined).success === false,
    );
    if (unsetField !== undefined)
      throw invalidBody(
        `${at}.fixed.${unsetField}`,
        `must be set: it selects what ${skillId} reads, so the visitor must not be able to choose it`,
      );
    for (const [field, value] of Object.entries(fixed)) {
      if (textsIn(value).some((text) => text.includes('{{'))) continue;
      const { error } = skill.input.shape[field]?.safeParse(value) ?? {};
      if (error !== undefined) throw invalidBody(`${at}.fixed.${field}`, error.issues[0]?.message ?? 'is not valid');
    }
  });
  const resolved = tools.map((tool) => resolveTool(tool, skills, tool.fixed)).filter((tool) => tool !== null);
  const tokens = estimateTokens(describeTools(resolved));
  if (tokens > maxToolsTokens)
    throw invalidBody(
      'tools',
      `use ${tokens.toLocaleString('en')} tokens of the prompt, and the limit is ${maxToolsTokens.toLocaleString('en')}; shorten their descriptions, fix more of their fields, or list fewer`,
    );
}

function assertFixed(at: string, fixed: JsonObject, fields: readonly string[]): void {
  if (JSON.stringify(fixed).length > maxFixedCharacters)
    throw invalidBody(`${at}.fixed`, `must have at most ${maxFixedCharacters.toLocaleString('en')} characters as JSON`);
  for (const [field, value] of Object.entries(fixed)) {
    if (!fields.includes(field))
      throw invalidBody(`${at}.fixed.${field}`, `is not a field of the skill; its fields are ${fields.join(', ')}`);
    for (const text of textsIn(value)) {
      const unknown = [...text.matchAll(reference)].find(([, name]) => !isKnown((name as string).trim()));
      if (unknown !== undefined || text.replaceAll(reference, '').includes('{{'))
        throw invalidBody(
          `${at}.fixed.${field}`,
          `may reference only ${replyToolReferences.map((name) => `{{${name}}}`).join(', ')}`,
        );
    }
  }
}
