import type { HubMessage } from '../../../shared/contract/automations/approvals.ts';
import type { JsonObject } from '../../../shared/json.ts';

/** An earlier attempt of a step whose command could have had an effect. */
export interface EarlierAttempt {
  /** Type of the command, such as `system.run`. */
  type: string;
  code: string;
  handedOutAt: Date;
}

/** Why the hub requests an approval. */
type Reason = { kind: 'program' } | { kind: 'policy' | 'changed'; skillId: string };

const reasonText = (reason: Reason): string => {
  if (reason.kind === 'program') return 'A workflow asks to run exactly this on the node.';
  return reason.kind === 'policy'
    ? `The policy of this workspace asks for an approval before ${reason.skillId}. What runs is exactly what is shown.`
    : 'What this step would do is not what the approval before it showed, so it needs one of its own. What runs is exactly what is shown.';
};

const earlierAttemptText = ({ type, handedOutAt, code }: EarlierAttempt): string =>
  ` An earlier try of this step sent ${type} to its node at ${handedOutAt.toISOString()} and ended with ${code}. The command may have had an effect already. Look at the machine before you approve.`;

const earlierAttemptPattern =
  /^ An earlier try of this step sent ([\w.]+) to its node at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) and ended with (\w+)\. The command may have had an effect already\. Look at the machine before you approve\.$/;

/** The message of an approval that the hub requests. `readApprovalMessage` reads its parts. */
export const approvalMessage = (reason: Reason, earlier: EarlierAttempt | null): string =>
  reasonText(reason) + (earlier === null ? '' : earlierAttemptText(earlier));

/**
 * Reads the parts of a message that `approvalMessage` wrote. The stored message is the only copy of these parts: the
 * hash of the request does not allow further fields in it. @returns undefined for a message of a workflow.
 */
export function readApprovalMessage({
  kind,
  request,
  message,
}: {
  kind: 'step' | 'system.run';
  request: JsonObject;
  message: string;
}): HubMessage | undefined {
  const { skillId } = request;
  const reasons: Reason[] =
    kind === 'system.run'
      ? [{ kind: 'program' }]
      : typeof skillId === 'string'
        ? [
            { kind: 'policy', skillId },
            { kind: 'changed', skillId },
          ]
        : [];
  for (const reason of reasons) {
    const text = reasonText(reason);
    if (!message.startsWith(text)) continue;
    const rest = message.slice(text.length);
    if (rest === '') return { reason: reason.kind, earlierTry: null };
    const [, commandType, sentAt, code] = earlierAttemptPattern.exec(rest) ?? [];
    if (commandType === undefined || sentAt === undefined || code === undefined) return undefined;
    return { reason: reason.kind, earlierTry: { commandType, sentAt, code } };
  }
  return undefined;
}
