import { z } from 'zod';
import { commandOrigin } from '../../shared/commands/origin.ts';
import { auditHead } from '../../shared/companion/state.ts';
import { commandApproval } from '../../shared/contract/nodes/device.ts';
import { jsonObject } from '../../shared/json.ts';

/**
 * Only those fields of the hub's answers that the companion reads: a hub of another version may send other fields, or
 * other types. `shared/contract/nodes.ts` declares the answers of a hub of this version.
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
  /** Limited in depth, so that recursive functions do not overflow the stack. */
  input: jsonObject,
  /** Milliseconds for which the hub waits for the result, from now on. An earlier hub does not send it. */
  endsInMs: z.number().optional().catch(undefined),
  approval: commandApproval.optional(),
  /** Shown to the owner. It decides nothing, so an origin that cannot be read counts as none. */
  origin: commandOrigin.optional().catch(undefined),
});
/** A command that the companion received and can read. */
export type ReceivedCommand = z.output<typeof receivedCommand>;

/** A command of which only the ID could be read, and why. */
export interface UnreadableCommand {
  id: string;
  problem: string;
}

/** A command that cannot be read does not prevent the others from running. */
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

/** The fields that the companion reads, for the answer of each device operation. */
export const hubAnswers = {
  claimAutomationNode: z.object({ nodeId: z.uuid(), deviceSecret: z.string().min(1) }),
  heartbeatAutomationNode: z.object({
    withdrawn: z.array(z.string()).default([]),
    endedRuns: z.array(z.string()).default([]),
    hub: pace,
    allowSystem: z.boolean().optional(),
    allowBrowser: z.boolean().optional(),
    /** An earlier hub keeps no record of the log. */
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
