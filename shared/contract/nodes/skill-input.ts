import { z } from 'zod';

/** Input of a node skill beyond the command's own. */
export const nodeSkillInput = {
  nodeId: z.uuid('must be the id of a paired node'),
  waitMs: z
    .int()
    .min(0)
    .max(300_000)
    .default(30_000)
    .describe('How long to wait for a node that is offline, in milliseconds'),
};
