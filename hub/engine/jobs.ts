import { z } from 'zod';

/** Every job that goes through the queue, declared once: what it carries and which queue has it. Data holds ids only; a `run` without one says that there are more than were named. */
export const jobCatalog = {
  run: { queue: 'runs', data: z.object({ runId: z.uuid().optional(), tenantId: z.uuid().optional() }) },
} as const;
