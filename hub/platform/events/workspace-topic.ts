import type { Transaction } from '../db/transaction.ts';
import { noteWritten } from '../db/transaction.ts';

/** Topic under which it is told live that something changed of which the stream of a workspace tells. */
export const workspaceTopic = (tenantId: string) => `workspace:${tenantId}`;

/** Notes that a transaction changes such a row, so that those who follow the workspace look at once instead of a few seconds later. */
export function noteWorkspaceChange(tx: Transaction, tenantId: string): void {
  noteWritten(tx, workspaceTopic(tenantId));
}
