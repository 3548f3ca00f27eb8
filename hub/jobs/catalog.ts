import { z } from 'zod';

/** Every job that goes through the queue, declared once: what it carries and which queue has it. Data holds ids only. */
export const jobCatalog = {
  run: { queue: 'runs', data: z.object({ runId: z.uuid(), tenantId: z.uuid().optional() }) },
} as const;
