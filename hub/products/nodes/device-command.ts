import { AppError } from '../../../shared/errors.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { NodeCommandRow } from './command-rows.ts';
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

interface FoundCommand {
  status: NodeCommandRow['status'];
  overdue: boolean;
  handed_out: boolean;
  acts: boolean;
  run_id: string;
  has_uploads: boolean;
}

/** A command that was handed out to a device. @throws AppError `not_found` for any other. */
export async function readDeviceCommand(
  tx: Transaction,
  { nodeId }: DeviceIdentity,
  commandId: string,
): Promise<DeviceCommand> {
  const { rows } = await tx.query<FoundCommand>(
    'read_device_command',
    `SELECT status, overdue, handed_out_at IS NOT NULL AS handed_out, acts, run_id, EXISTS (SELECT 1 FROM artifact_uploads u WHERE u.command_id = node_commands.id) AS has_uploads
     FROM node_commands WHERE id = $1 AND node_id = $2`,
    [commandId, nodeId],
  );
  const row = rows[0];
  const isWanted = row !== undefined && (row.status === 'pending' || row.status === 'leased' || row.overdue);
  // That a command which reads was handed out is forgotten when the database crashes; the device that has its result was handed it.
  if (row === undefined || (!row.handed_out && !isWanted)) throw unknownCommand(commandId);
  return { ended: isWanted ? null : row.status, acts: row.acts, runId: row.run_id, hasUploads: row.has_uploads };
}
