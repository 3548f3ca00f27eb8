import type { NodePort } from '../../engine/index.ts';
import { assertedText } from '../../platform/db/errors.ts';
import { findEarlier, takeBack } from './commands/index.ts';
import type { NodeCommands } from './commands/index.ts';
import { textOfOutput } from './results/index.ts';
import { selectNode } from './selection.ts';
import { assertNodeUsable, requireUsableNode } from './store.ts';

/** The interface through which the run engine uses nodes. */
export const nodePort = (commands: NodeCommands, heartbeatSeconds: number): NodePort => ({
  select: (tx, request) => selectNode(tx, request, heartbeatSeconds),
  assertUsable: assertNodeUsable,
  async dispatch(tx, request) {
    const { tenantId, nodeId, command } = request;
    const usable = assertNodeUsable(tx, tenantId, nodeId, command, { lock: true });
    // Sent without waiting for `usable`: if that fails, the transaction is rolled back.
    const sent = commands.dispatch(tx, request);
    sent.catch(() => undefined);
    // The reason of `usable` takes precedence, because it says what to change.
    await usable;
    return sent;
  },
  async dispatchPipelined(tx, request) {
    const { tenantId, nodeId, command } = request;
    await Promise.all([
      requireUsableNode(tx, tenantId, nodeId, command),
      commands.dispatch(tx, request, assertedText('id = $1')),
    ]);
  },
  takeBack,
  readOutcome: (tenantId, commandId, maxOutputBytes) => commands.readOutcome(tenantId, commandId, maxOutputBytes),
  findEarlier,
  textOf: textOfOutput,
});
