import { z } from 'zod';
import { defineCommand } from './define.ts';

export const ping = defineCommand({
  type: 'node.ping',
  title: 'Ping',
  summary: 'Checks that a companion node responds, and measures the round trip.',
  gate: 'none',
  acts: false,
  timeoutMs: 10_000,
  input: z.strictObject({
    // The field has no effect. It is not sent to devices, because earlier companions refuse unknown fields.
    path: z
      .string()
      .max(4096)
      .optional()
      .transform(() => undefined)
      .describe('Accepted and ignored'),
  }),
  output: z.object({
    pong: z.literal(true),
    latencyMs: z
      .number()
      .min(0)
      .describe('Milliseconds from the lease of the command to the reply, by the clock of the hub'),
    appVersion: z.string().max(100),
  }),
});
