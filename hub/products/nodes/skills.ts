import { z } from 'zod';
import { commands } from '../../../shared/commands/catalog.ts';
import type { CommandDefinition } from '../../../shared/commands/define.ts';
import { nodeSkillInput, selectsOneNode } from '../../../shared/contract/nodes/skill-input.ts';
import type { NodeSkill } from '../../engine/skill.ts';

/** Returns one skill per command. Its input is the input of the command, the node and the wait time. */
export function nodeSkills(): NodeSkill[] {
  return Object.values(commands as Record<string, CommandDefinition>).map((command) => ({
    kind: 'node',
    id: command.type,
    title: command.title,
    summary: command.summary,
    requires: ['automations'],
    input: selectsOneNode(z.strictObject({ ...nodeSkillInput, ...command.input.shape, ...command.hubInput })),
    output: command.output,
    command,
  }));
}
