import type { StepResult } from './run-model.ts';

/** What happens again when a step runs again. `other` is described by the skill catalog. */
export type RerunEffect = 'message' | 'mail' | 'webhook' | 'command' | 'run' | 'agent' | 'approval' | 'other';

/** Effects of skills, as the catalog describes them, whose repetition changes nothing outside the workspace. */
const harmless = new Set([
  'reads from a companion node',
  'only reads what this workspace keeps',
  'changes nothing outside this workspace',
]);

const ofSkill: Record<string, RerunEffect> = {
  'email.send': 'mail',
  'webhook.deliver': 'webhook',
  'channel.deliver': 'message',
  'subagent.spawn': 'run',
};
/** Skills that send commands to nodes. */
const nodeSkill = /^(?:node|browser|system)\./;

/** What a step does again; null for nothing that matters. A skill that the catalog does not know may do anything. */
export function effectOf(step: StepResult, catalog: ReadonlyMap<string, string>): RerunEffect | null {
  if (step.type === 'log') return null;
  if (step.type === 'deliver') return 'message';
  if (step.type === 'agent') return 'agent';
  if (step.type === 'approval') return 'approval';
  const skillId = step.skillId ?? '';
  const known = ofSkill[skillId];
  if (known !== undefined) return known;
  const effect = catalog.get(skillId);
  if (effect !== undefined && harmless.has(effect)) return null;
  return nodeSkill.test(skillId) ? 'command' : 'other';
}
