import type { Transaction } from '../db/transaction.ts';

/** Topic of the changes that the event stream of a workspace contains. */
export const workspaceTopic = (tenantId: string) => `workspace:${tenantId}`;

/** Marks a transaction as a change of the workspace. Followers of the workspace wake immediately after the commit. */
export function noteWorkspaceChange(tx: Transaction, tenantId: string): void {
  tx.changed(workspaceTopic(tenantId));
}
