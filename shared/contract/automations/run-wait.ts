import { z } from 'zod';
import { id, named, timestamp } from '../common.ts';
import { queueReasons } from './run-status.ts';

const stepIndex = z.int().describe('Index of the step that waits, from 0');

/** Why a run waits. Computed from the current state; not stored. */
export const runWait = named(
  'RunWait',
  z.discriminatedUnion('kind', [
    named(
      'RunWaitForLimit',
      z.object({
        kind: z.literal('limit').describe('The run waits for a concurrency or rate limit'),
        limit: z
          .enum(queueReasons.filter((hold) => hold !== 'quiet_hours'))
          .describe('Limit that is reached; `earlier_runs`: the run is queued behind another run of its workflow'),
        until: timestamp.nullable().describe('When the limit allows the run; null when that depends on other runs'),
      }),
    ),
    named(
      'RunWaitForQuietHours',
      z.object({
        kind: z.literal('quiet_hours').describe('The run waits for the end of the quiet hours of the policy'),
        until: timestamp
          .nullable()
          .describe('End of the quiet hours; null when an earlier run of the workflow goes first'),
      }),
    ),
    named(
      'RunWaitForJitter',
      z.object({
        kind: z.literal('jitter').describe('The run waits for the random delay of its schedule'),
        until: timestamp.describe('When the run starts'),
      }),
    ),
    named(
      'RunWaitForNode',
      z.object({
        kind: z.literal('node_command').describe('A step waits for a companion node'),
        stepIndex,
        commandId: id.describe('Command that the node must complete'),
        nodeId: id.describe('Node that the command is for'),
        nodeName: z.string().describe('Current name of the node'),
        nodeOnline: z.boolean().describe('Whether the node is online'),
        handedOut: z.boolean().describe('Whether the node has leased the command; otherwise the command is pending'),
        waitsForOwner: z
          .boolean()
          .describe('Whether the node has leased the command and waits until the owner of its machine allows it'),
        until: timestamp.describe('Deadline for the node to lease the command, or, once leased, to complete it'),
      }),
    ),
    named(
      'RunWaitForApproval',
      z.object({
        kind: z.literal('approval').describe('A step waits for a decision'),
        stepIndex,
        approvalId: id.describe('Approval that must be decided'),
        until: timestamp.nullable().describe('When the approval expires; null if it does not'),
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
      z.object({
        kind: z.literal('retry').describe('A step waits before its next attempt'),
        stepIndex,
        until: timestamp,
      }),
    ),
  ]),
);
export type RunWait = z.output<typeof runWait>;
