import { z } from 'zod';
import { memoryValue } from '../../../../shared/contract/automations/memory.ts';
import { id, text } from '../../../../shared/contract/common.ts';
import { jsonObject, jsonValue } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { defineReadingSkill, defineSkill } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import type { Memory } from './memory.ts';

const key = text(1, 200);
const sessionId = id.optional().describe("A memory of its own for one session; the workspace's when left out");

export function memorySkills(memory: Memory): DirectSkill[] {
  return [
    defineReadingSkill({
      id: 'memory.read',
      title: 'Read memory',
      summary: 'Reads what was remembered under a key; null when nothing was.',
      requires: ['automations'],
      scope: ['key', 'sessionId'],
      input: z.strictObject({ key, sessionId }),
      output: z.object({ key: z.string(), value: jsonValue }),
      async read(input, { tenantId }) {
        const value = await memory.read(tenantId, input);
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
        value: memoryValue.optional(),
        sessionId,
        ttlSeconds: z
          .int()
          .min(1)
          .max(366 * 86_400)
          .optional()
          .describe('Forgotten after so many seconds'),
      }),
      output: z.object({ key: z.string(), value: jsonValue }),
      async execute(input, context) {
        const value = input.value ?? null;
        return {
          output: { key: input.key, value },
          persist: (tx) => memory.write(tx, context.tenantId, { ...input, value }),
        };
      },
    }),
    defineSkill({
      id: 'memory.diff',
      title: 'Find what is new in a list',
      summary: 'Compares a list with the one of the last time, by a field, and remembers it for the next.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({
        key,
        items: z.array(jsonObject).max(5_000, 'must have at most 5000 items'),
        by: text(1, 100).describe('The field that tells items apart'),
        sessionId,
      }),
      output: z.object({
        added: z.array(jsonObject),
        removed: z.array(z.string()).describe('By their field'),
        first: z.boolean().describe('Whether there was nothing to compare with'),
      }),
      async execute({ key: name, items, by, sessionId: session }, context) {
        const idOf = (item: JsonObject) => (typeof item[by] === 'string' ? item[by] : JSON.stringify(item[by] ?? null));
        const entry = { key: name, sessionId: session };
        const before = await memory.read(context.tenantId, entry);
        const known = new Set(Array.isArray(before) ? before.map(String) : []);
        const ids = [...new Set(items.map(idOf))];
        // The first look only learns what there is.
        const added = before === null ? [] : items.filter((item) => !known.has(idOf(item)));
        const removed = before === null ? [] : [...known].filter((item) => !ids.includes(item));
        return {
          output: { added, removed, first: before === null },
          outputText: added.map(idOf).join(', '),
          persist: (tx) => memory.write(tx, context.tenantId, { ...entry, value: ids }),
        };
      },
    }),
  ];
}
