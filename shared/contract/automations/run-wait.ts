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
        kind: z.literal('limit').describe('The run waits for a concurrency or rate limit'),
        limit: z
          .enum(runHolds.filter((hold) => hold !== 'quiet_hours'))
          .describe('The limit that has no room; `earlier_runs`: it stands in line behind another run of its workflow'),
        until: timestamp.nullable().describe('When there will be room; null when that depends on other runs'),
      }),
    ),
    named(
      'RunWaitForQuietHours',
      z.object({
        kind: z.literal('quiet_hours').describe('The run waits for the end of the quiet hours of the policy'),
        until: timestamp.nullable().describe('The end of them; null when an earlier run of its workflow is first'),
      }),
    ),
    named(
      'RunWaitForJitter',
      z.object({
        kind: z.literal('jitter').describe('The run waits for the random delay of its schedule'),
        until: timestamp.describe('When it begins, by the jitter of its schedule'),
      }),
    ),
    named(
      'RunWaitForNode',
      z.object({
        kind: z.literal('node_command').describe('A step waits for a companion node'),
        stepIndex,
        commandId: id.describe('Command that the node must answer'),
        nodeId: id.describe('Node that the command is for'),
        nodeName: z.string().describe('Current name of the node'),
        nodeOnline: z.boolean().describe('Whether the node can be reached now'),
        handedOut: z.boolean().describe('Whether the node has the command; otherwise it waits to be fetched'),
        until: timestamp.describe('The end of its time: to be fetched, or on the device once it was'),
      }),
    ),
    named(
      'RunWaitForApproval',
      z.object({
        kind: z.literal('approval').describe('A step waits for a decision'),
        stepIndex,
        approvalId: id.describe('Approval that must be decided'),
        until: timestamp.nullable().describe('When it expires; null without an end'),
      }),
    ),
    named(
      'RunWaitForRun',
      z.object({
        kind: z.literal('run').describe('A step waits for a run that it started'),
        stepIndex,
        runId: id.describe('Run that the step waits for'),
      }),
    ),
    named(
      'RunWaitForDelay',
      z.object({
        kind: z.literal('delay').describe('A step waits for its `delaySeconds`'),
        stepIndex,
        until: timestamp,
      }),
    ),
    named(
      'RunWaitForRetry',
      z.object({ kind: z.literal('retry').describe('A step waits before its next try'), stepIndex, until: timestamp }),
    ),
  ]),
);
export type RunWait = z.output<typeof runWait>;
