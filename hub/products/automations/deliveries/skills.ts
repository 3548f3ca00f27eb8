import { z } from 'zod';
import { text } from '../../../../shared/contract/common.ts';
import { jsonValue } from '../../../../shared/json.ts';
import { defineSkill } from '../../../engine/skill.ts';
import type { DirectSkill } from '../../../engine/skill.ts';
import type { Deliveries } from './deliveries.ts';

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be a header name');

export function webhookSkills(deliveries: Deliveries): DirectSkill[] {
  return [
    defineSkill({
      id: 'webhook.deliver',
      title: 'Call a web address',
      summary:
        'POSTs JSON to an https address. All attempts of a step in one run send the same Idempotency-Key. A retry of the run sends a new key.',
      requires: ['automations'],
      effect: 'keyed',
      waitsForThirdParty: true,
      input: z.strictObject({
        url: text(1, 4000).describe('https; private and local addresses are refused'),
        body: jsonValue.optional(),
        headers: z
          .record(
            headerName,
            text(0, 4000).refine((value) => !/[\r\n]/.test(value), 'must be one line'),
          )
          .optional(),
      }),
      output: z.union([
        z.object({ simulated: z.literal(true), url: z.string() }),
        z.object({
          status: z.int(),
          body: jsonValue.describe('Parsed JSON when the response is JSON, otherwise its text'),
        }),
      ]),
      execute: (input, context) => deliveries.deliver(input, context),
    }),
  ];
}
