import type { ChatAiTool } from '../../../../shared/contract/chat/ai-settings.ts';
import { fieldPath } from '../../../../shared/field-path.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { describeSkill } from '../../../engine/index.ts';
import type { ReadOperation, Skill, SkillCatalog } from '../../../engine/skill.ts';

/** Tool calls per answer, and the time limit of all of them together. */
export const maxToolCalls = 5;
export const toolsTimeoutMs = 20_000;

/** A tool of the AI agent in one conversation. */
export interface Tool {
  name: string;
  description: string;
  skill: Skill;
  /** The read operation. Null for a tool that acts, which a person must approve. */
  reading: ReadOperation | null;
  /** Input fields that the model cannot set. */
  fixed: JsonObject;
  /** Input fields that the model may set. */
  open: readonly string[];
  links: boolean;
}

/**
 * @param fixed The `fixed` values of the tool, with their references replaced.
 * @returns null if the skill no longer exists.
 */
export function resolveTool(
  { name, skillId, description, links }: ChatAiTool,
  skills: SkillCatalog,
  fixed: JsonObject,
): Tool | null {
  const skill = skills.find(skillId);
  if (skill === undefined) return null;
  const reading = (skill.kind === 'direct' ? skill.reading : undefined) ?? null;
  const open = Object.keys(skill.input.shape).filter(
    (field) => !Object.hasOwn(fixed, field) && reading?.scope.includes(field) !== true,
  );
  return { name, description: description === '' ? skill.summary : description, skill, reading, fixed, open, links };
}

const maxInputDepth = 16;
const maxInputCharacters = 8_000;

/** Validates the input of the model and adds the fixed fields. */
export function checkInput(
  { skill, fixed, open }: Tool,
  rawInput: unknown,
): { input: JsonObject; parsed: Record<string, unknown> } | { problem: string } {
  let input: JsonObject;
  try {
    input = toStorableJson(rawInput, maxInputDepth) as JsonObject;
  } catch {
    return { problem: 'its input nests too deep' };
  }
  const foreign = Object.keys(input).find((field) => !open.includes(field));
  if (foreign !== undefined) return { problem: `it takes ${open.length === 0 ? 'no input' : open.join(', ')}` };
  if (JSON.stringify(input).length > maxInputCharacters) return { problem: 'its input is too long' };
  const whole = { ...input, ...fixed };
  const { data, error } = skill.input.safeParse(whole);
  if (error === undefined) return { input: whole, parsed: data };
  const problems = error.issues.map((issue) => `${fieldPath(['input', ...issue.path])} ${schemaMessage(issue)}`);
  return { problem: problems.join('; ').slice(0, 500) };
}

function inputSchema({ skill, open }: Tool): JsonObject {
  const { properties, required, ...schema } = describeSkill(skill).input as {
    properties?: JsonObject;
    required?: string[];
  } & JsonObject;
  const isOpen = (field: string) => open.includes(field);
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties ?? {}).filter(([field]) => isOpen(field))),
    required: (required ?? []).filter(isOpen),
  };
}

/** Describes the tools, and how to call them, for the prompt. Empty without tools. */
export function describeTools(tools: readonly Tool[]): string {
  if (tools.length === 0) return '';
  const list = tools.map((tool) => {
    const waits = tool.reading === null ? ' A person must approve it: call it, then say that it was asked for.' : '';
    const input = tool.open.length === 0 ? 'Input: {}' : `Input: ${JSON.stringify(inputSchema(tool))}`;
    return `- ${tool.name}: ${tool.description}${waits} ${input}`;
  });
  return [
    `Where you need more to answer, call tools instead: answer with {"action": "call", "calls": [{"tool": "name", "input": {…}}]} and nothing else. What they say comes back, quoted; then answer. At most ${maxToolCalls} calls in all. The tools:`,
    ...list,
  ].join('\n');
}
