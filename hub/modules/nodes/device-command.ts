import { and, eq, sql } from 'drizzle-orm';
import { AppError } from '../../../shared/errors.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { nodeCommands } from '../../platform/db/schema.ts';
import type { NodeCommandRow } from './commands.ts';
import type { DeviceIdentity } from './store.ts';

/** A command as the device that has it may see it. */
export interface DeviceCommand {
  /** How it ended; null while its result is wanted. */
  ended: NodeCommandRow['status'] | null;
  acts: boolean;
  runId: string;
  /** Whether artefacts of it were uploaded ahead of its result. */
  hasUploads: boolean;
}

/** A command that was handed out to a device. @throws AppError `not_found` for any other. */
export async function readDeviceCommand(tx: Transaction, { nodeId }: DeviceIdentity, commandId: string): Promise<DeviceCommand> {
  const [row] = await tx
    .select({ status: nodeCommands.status, handedOutAt: nodeCommands.handedOutAt, acts: nodeCommands.acts, runId: nodeCommands.runId, hasUploads: sql<boolean>`exists (select 1 from artifact_uploads u where u.command_id = node_commands.id)` })
    .from(nodeCommands)
    .where(and(eq(nodeCommands.id, commandId), eq(nodeCommands.nodeId, nodeId)));
  if (row === undefined || row.handedOutAt === null) throw new AppError('not_found', `There is no command ${commandId} for this node.`);
  return { ended: row.status === 'pending' || row.status === 'leased' ? null : row.status, acts: row.acts, runId: row.runId, hasUploads: row.hasUploads };
}
