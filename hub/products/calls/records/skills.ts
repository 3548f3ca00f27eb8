import { z } from 'zod';
import { defineSkill } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import type { Calls } from './service.ts';

/** Longest period of a usage report, in days. */
export const maxUsageDays = 365;

const count = z.int();

export const callSkills = (calls: Calls): DirectSkill[] => [
  defineSkill({
    id: 'voice.usage_read',
    title: 'Read call usage',
    summary: 'Counts the calls and call minutes of the last days, including today (UTC).',
    requires: ['business_phone'],
    effect: 'pure',
    input: z.strictObject({
      days: z
        .int('must be a whole number')
        .min(1, 'must be from 1 to 365')
        .max(maxUsageDays, 'must be from 1 to 365')
        .default(7)
        .describe('Number of days, 1 to 365'),
    }),
    output: z.object({
      days: count,
      calls: count,
      inbound: count.describe('Inbound calls that ended'),
      answeredInbound: count.describe('Inbound calls that were answered'),
      answered: count.describe('Answered calls in both directions'),
      minutes: count.describe('Minutes of answered calls, rounded half up'),
    }),
    execute: async ({ days }, context) => {
      const usage = await calls.usage(context.tenantId, days);
      return { output: usage, outputText: `${usage.calls} calls, ${usage.minutes} minutes in ${usage.days} days` };
    },
  }),
];
