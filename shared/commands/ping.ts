import { z } from 'zod';
import { defineCommand } from './define.ts';

export const ping = defineCommand({
  type: 'node.ping',
  title: 'Ping',
  summary: 'Asks a companion node whether it is there, and measures the round trip.',
  gate: 'none',
  acts: false,
  timeoutMs: 10_000,
  input: z.strictObject({
    // Specified, and without effect. It is not sent on, because earlier companions refuse unknown fields.
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
      .describe("From the hub handing the command out to the device answering, by the hub's clock"),
    appVersion: z.string().max(100),
  }),
});
