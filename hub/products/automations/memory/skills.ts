import { z } from 'zod';
import { memoryValue } from '../../../../shared/contract/automations/memory.ts';
import { id, text } from '../../../../shared/contract/common.ts';
import { jsonObject, jsonValue } from '../../../../shared/json.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import { defineReadingSkill, defineSkill } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import type { Memory } from './memory.ts';

const key = text(1, 200);
const sessionId = id.optional().describe('Uses the memory of this session; the memory of the workspace when omitted');

export function memorySkills(memory: Memory): DirectSkill[] {
  return [
    defineReadingSkill({
      id: 'memory.read',
      title: 'Read memory',
      summary: 'Reads the stored value of a key; null when there is none.',
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
      summary: 'Stores a value under a key; null, or no value, deletes it.',
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
          .describe('Expires after this number of seconds'),
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
      summary: 'Compares a list by a field with the list of the previous call, and stores it for the next call.',
      requires: ['automations'],
      effect: 'pure',
      input: z.strictObject({
        key,
        items: z.array(jsonObject).max(5_000, 'must have at most 5000 items'),
        by: text(1, 100).describe('The field that identifies items'),
        sessionId,
      }),
      output: z.object({
        added: z.array(jsonObject),
        removed: z.array(z.string()).describe('Items that are missing compared with the previous call, by their field'),
        first: z.boolean().describe('Whether this is the first call, without a list to compare with'),
      }),
      async execute({ key: name, items, by, sessionId: session }, context) {
        const idOf = (item: JsonObject) => (typeof item[by] === 'string' ? item[by] : JSON.stringify(item[by] ?? null));
        const entry = { key: name, sessionId: session };
        const before = await memory.read(context.tenantId, entry);
        const known = new Set(Array.isArray(before) ? before.map(String) : []);
        const ids = [...new Set(items.map(idOf))];
        // The first call only stores the list, so that it reports no new items.
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
