import { z } from 'zod';
import { defineSkill } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import type { Calls } from './service.ts';

/** How far back sums of days can be asked for. */
export const maxUsageDays = 365;

const count = z.int();

export const callSkills = (calls: Calls): DirectSkill[] => [
  defineSkill({
    id: 'voice.usage_read',
    title: 'Read how much was called',
    summary: 'Counts the calls of the last days, today in UTC included, and their minutes.',
    requires: ['business_phone'],
    effect: 'pure',
    input: z.strictObject({
      days: z
        .int('must be a whole number')
        .min(1, 'must be from 1 to 365')
        .max(maxUsageDays, 'must be from 1 to 365')
        .default(7)
        .describe('How many, 1 to 365'),
    }),
    output: z.object({
      days: count,
      calls: count,
      inbound: count.describe('Inbound ones that ended'),
      answeredInbound: count.describe('Those of them that were answered'),
      answered: count.describe('Of both directions'),
      minutes: count.describe('Whole, half up, of answered calls'),
    }),
    execute: async ({ days }, context) => {
      const usage = await calls.usage(context.tenantId, days);
      return { output: usage, outputText: `${usage.calls} calls, ${usage.minutes} minutes in ${usage.days} days` };
    },
  }),
];
