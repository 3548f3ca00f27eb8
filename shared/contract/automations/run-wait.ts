import { z } from 'zod';
import { id, named, timestamp } from '../common.ts';
import { runHolds } from './run-status.ts';

const stepIndex = z.int().describe('The step that waits');

/** Why a run does not go on now; nothing of it is kept beyond the wait itself. */
export const runWait = named(
  'RunWait',
  z.discriminatedUnion('kind', [
    named(
      'RunWaitForLimit',
      z.object({
        kind: z.literal('limit'),
        limit: z
          .enum(runHolds.filter((hold) => hold !== 'quiet_hours'))
          .describe('The limit that has no room; `earlier_runs`: it stands in line behind another run of its workflow'),
        until: timestamp.nullable().describe('When there will be room; null when that depends on other runs'),
      }),
    ),
    named(
      'RunWaitForQuietHours',
      z.object({
        kind: z.literal('quiet_hours'),
        until: timestamp.nullable().describe('The end of them; null when an earlier run of its workflow is first'),
      }),
    ),
    named(
      'RunWaitForJitter',
      z.object({
        kind: z.literal('jitter'),
        until: timestamp.describe('When it begins, by the jitter of its schedule'),
      }),
    ),
    named(
      'RunWaitForNode',
      z.object({
        kind: z.literal('node_command'),
        stepIndex,
        commandId: id,
        nodeId: id,
        nodeName: z.string(),
        nodeOnline: z.boolean().describe('Whether the node can be reached now'),
        handedOut: z.boolean().describe('Whether the node has the command; otherwise it waits to be fetched'),
        until: timestamp.describe('The end of its time: to be fetched, or on the device once it was'),
      }),
    ),
    named(
      'RunWaitForApproval',
      z.object({
        kind: z.literal('approval'),
        stepIndex,
        approvalId: id,
        until: timestamp.nullable().describe('When it expires; null without an end'),
      }),
    ),
    named('RunWaitForRun', z.object({ kind: z.literal('run'), stepIndex, runId: id })),
    named('RunWaitForDelay', z.object({ kind: z.literal('delay'), stepIndex, until: timestamp })),
    named('RunWaitForRetry', z.object({ kind: z.literal('retry'), stepIndex, until: timestamp })),
  ]),
);
export type RunWait = z.output<typeof runWait>;
