import { z } from 'zod';
import { id, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { runStatuses } from './run-status.ts';

/** A workflow without its definition, which can be large. */
const workflowSummary = named(
  'WorkflowSummary',
  z.object({
    id: id.describe('Id of the workflow'),
    name: z.string().describe('Display name, at most 200 characters'),
    active: z.boolean().describe('Whether its trigger starts runs; an inactive workflow cannot be started'),
    triggerType: z
      .string()
      .meta({ example: 'schedule' })
      .describe('Type of its trigger, such as `manual`, `schedule`, `webhook`, `event` or `channel`'),
    stepCount: z.int().describe('Number of its steps, 1 to 200'),
    version: z.int().min(1).describe('Version, from 1'),
    environment: z.enum(['live', 'test']).describe('`test` if all its runs are test runs'),
    createdAt: timestamp,
    updatedAt: timestamp,
    nextRunAt: timestamp.nullable().describe('Next time at which its schedule fires; null without a schedule'),
    lastRun: z
      .object({
        id: id.describe('Id of the run'),
        status: z.enum(runStatuses).describe('Status of the run'),
        environment: z.enum(['live', 'test']).describe('Environment of the run'),
        queuedAt: timestamp,
        finishedAt: timestamp.nullable(),
      })
      .nullable()
      .describe('Newest run; null if no run is stored'),
  }),
);
export type WorkflowSummary = z.output<typeof workflowSummary>;

export const workflowSummaries = defineResource({
  listAutomationWorkflowSummaries: {
    tag: 'Workflows',
    callers: ['token', 'session'],
    permission: 'automations:read',
    role: 'agent',
    method: 'GET',
    path: '/v1/automations/workflow-summaries',
    summary: 'List workflows without their definitions',
    description:
      'Each has the number of its steps and its newest run, but not its trigger, steps, limits and inputs. Get a single workflow to read those.',
    query: listQuery.extend({
      q: text(1, 200).optional().describe('Only workflows whose name contains this text, in any letter case'),
      active: z.enum(['true', 'false']).optional(),
      pack: text(1, 100)
        .optional()
        .meta({ example: 'site-uptime-watch' })
        .describe('Only workflows that were created from the pack with this id'),
      sort: z
        .enum(['createdAt', 'updatedAt', 'name'], 'must be createdAt, updatedAt or name')
        .default('createdAt')
        .describe(
          '`createdAt` and `updatedAt`: newest first. `name`: by the first 60 characters, in any letter case. A cursor is valid for its order only',
        ),
    }),
    response: page(workflowSummary),
  },
});
