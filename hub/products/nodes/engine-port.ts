import type { NodePort } from '../../engine/index.ts';
import type { NodeCommands } from './commands.ts';
import { textOfOutput } from './output-text.ts';
import { assertNodeUsable } from './store.ts';

/** How the run engine reaches nodes. */
export const nodePort = (commands: NodeCommands): NodePort => ({
  assertUsable: assertNodeUsable,
  dispatch: (tx, request) => commands.dispatch(tx, request),
  readOutcome: (tenantId, commandId) => commands.readOutcome(tenantId, commandId),
  textOf: textOfOutput,
});
