import { AppError } from '../../../shared/errors.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { and, eq, sql } from '../../platform/db/orm.ts';
import type { NodeCommandRow } from './command-rows.ts';
import { nodeCommands } from './schema.ts';
import type { DeviceIdentity } from './store.ts';

/** A command as the device that has it may see it. */
export interface DeviceCommand {
  /** How it ended; null while its result is wanted, which it is, too, after the hub ended it for want of one. */
  ended: NodeCommandRow['status'] | null;
  acts: boolean;
  runId: string;
  /** Whether artefacts of it were uploaded ahead of its result. */
  hasUploads: boolean;
}

/** What a device is told of a command that it does not have; by `details` it knows that the hub speaks of the command. */
export function unknownCommand(commandId: string): AppError {
  return new AppError('not_found', `There is no command ${commandId} for this node.`, {
    details: [{ path: 'params.commandId', message: 'is no command of this node' }],
  });
}

/** A command that was handed out to a device. @throws AppError `not_found` for any other. */
export async function readDeviceCommand(
  tx: Transaction,
  { nodeId }: DeviceIdentity,
  commandId: string,
): Promise<DeviceCommand> {
  const [row] = await tx
    .select({
      status: nodeCommands.status,
      overdue: nodeCommands.overdue,
      handedOutAt: nodeCommands.handedOutAt,
      acts: nodeCommands.acts,
      runId: nodeCommands.runId,
      hasUploads: sql<boolean>`exists (select 1 from artifact_uploads u where u.command_id = node_commands.id)`,
    })
    .from(nodeCommands)
    .where(and(eq(nodeCommands.id, commandId), eq(nodeCommands.nodeId, nodeId)));
  const isWanted = row !== undefined && (row.status === 'pending' || row.status === 'leased' || row.overdue);
  // That a command which reads was handed out is forgotten when the database crashes; the device that has its result was handed it.
  if (row === undefined || (row.handedOutAt === null && !isWanted)) throw unknownCommand(commandId);
  return { ended: isWanted ? null : row.status, acts: row.acts, runId: row.runId, hasUploads: row.hasUploads };
}
