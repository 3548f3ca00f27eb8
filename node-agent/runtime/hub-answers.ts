import { z } from 'zod';
import { commandOrigin } from '../../shared/commands/origin.ts';
import { auditHead } from '../../shared/companion/state.ts';
import { commandApproval } from '../../shared/contract/nodes/device.ts';
import { jsonObject } from '../../shared/json.ts';

/**
 * What the companion reads of the hub's answers, and no more: a hub of another version may say more, or say the rest otherwise.
 * `shared/contract/nodes.ts` declares what a hub of this version answers.
 */

const bounded = (min: number, max: number, fallback: number) =>
  z
    .number()
    .catch(fallback)
    .transform((value) => Math.min(max, Math.max(min, Math.round(value))));

const pace = z.object({ pollSeconds: bounded(1, 30, 25), heartbeatSeconds: bounded(1, 300, 15) });

const commandId = z.uuid();

const receivedCommand = z.object({
  id: commandId,
  type: z.string(),
  /** Bounded in depth, so that functions that follow it down do not overflow the stack. */
  input: jsonObject,
  /** How long the hub wants the answer from now on, in milliseconds; an earlier hub does not say. */
  endsInMs: z.number().optional().catch(undefined),
  approval: commandApproval.optional(),
  /** For the owner to read; it decides nothing, so that one that can't be read counts as none. */
  origin: commandOrigin.optional().catch(undefined),
});
/** A command as the companion carries it out. */
export type ReceivedCommand = z.output<typeof receivedCommand>;

/** A command of which only the id could be read, and why. */
export interface UnreadableCommand {
  id: string;
  problem: string;
}

/** One command that can't be read must not keep the others from the device. */
const commandList = z.array(z.unknown()).transform((items) => {
  const commands: ReceivedCommand[] = [];
  const unreadable: UnreadableCommand[] = [];
  for (const item of items) {
    const parsed = receivedCommand.safeParse(item);
    if (parsed.success) {
      commands.push(parsed.data);
      continue;
    }
    const named = z.object({ id: commandId }).safeParse(item);
    const [issue] = parsed.error.issues;
    if (named.success)
      unreadable.push({
        id: named.data.id,
        problem: `${issue?.path.join('.') || 'the command'} ${issue?.message ?? 'is not valid'}`,
      });
  }
  return { commands, unreadable };
});

/** The answer of each device operation, as the companion reads it. */
export const hubAnswers = {
  claimAutomationNode: z.object({ nodeId: z.uuid(), deviceSecret: z.string().min(1) }),
  heartbeatAutomationNode: z.object({
    withdrawn: z.array(z.string()).default([]),
    endedRuns: z.array(z.string()).default([]),
    hub: pace,
    allowSystem: z.boolean().optional(),
    allowBrowser: z.boolean().optional(),
    /** An earlier hub knows nothing of the log. */
    audit: auditHead.nullable().optional().catch(undefined),
  }),
  pollAutomationNodeCommands: z
    .object({ commands: commandList, withdrawn: z.array(z.string()).default([]) })
    .transform(({ commands: { commands, unreadable }, withdrawn }) => ({ commands, unreadable, withdrawn })),
  proveAutomationHub: z.object({ proof: z.string() }),
  unpairAutomationNode: z.object({ deleted: z.literal(true) }),
  completeAutomationNodeCommand: z.object({ id: commandId }),
  uploadAutomationNodeArtifact: z.object({ received: z.number().int().min(0), complete: z.boolean() }),
};
export type HubAnswers = typeof hubAnswers;
