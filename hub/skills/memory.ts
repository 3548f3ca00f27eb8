import { z } from 'zod';
import { id, text } from '../../shared/contract/common.ts';
import { jsonValue } from '../../shared/json.ts';
import type { Memory } from '../modules/memory/index.ts';
import { defineSkill } from './define.ts';
import type { DirectSkill } from './define.ts';

const key = text(1, 200);
const sessionId = id.optional().describe('A memory of its own for one session; the workspace\'s when left out');

export function memorySkills(memory: Memory): DirectSkill[] {
  return [
    defineSkill({
      id: 'memory.read',
      title: 'Read memory',
      summary: 'Reads what was remembered under a key; null when nothing was.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({ key, sessionId }),
      async execute(input, context) {
        const value = await memory.read(context.tenantId, input);
        return { output: { key: input.key, value } };
      },
    }),
    defineSkill({
      id: 'memory.write',
      title: 'Write memory',
      summary: 'Remembers a value under a key; null, or no value, forgets it.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({
        key,
        value: jsonValue.optional(),
        sessionId,
        ttlSeconds: z.int().min(1).max(366 * 86_400).optional().describe('Forgotten after so many seconds'),
      }),
      async execute(input, context) {
        const value = input.value ?? null;
        return {
          output: { key: input.key, value },
          persist: (tx) => memory.write(tx, context.tenantId, { ...input, value }),
        };
      },
    }),
  ];
}
