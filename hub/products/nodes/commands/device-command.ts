import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { DeviceIdentity } from '../store.ts';
import type { NodeCommandRow } from './command-rows.ts';

/** A command as its device sees it. */
export interface DeviceCommand {
  /** The final status; null while a result is accepted. A command that expired without a result still accepts one. */
  ended: NodeCommandRow['status'] | null;
}

/** The error for an unknown command. `details` lets a device distinguish it from an unknown path. */
export function unknownCommand(commandId: string): AppError {
  return new AppError('not_found', `There is no command ${commandId} for this node.`, {
    details: [{ path: 'params.commandId', message: 'is no command of this node' }],
  });
}

interface FoundCommand {
  status: NodeCommandRow['status'];
  overdue: boolean;
  handed_out_at: Date | null;
}

/** Reads a command that was leased to this device. @throws AppError `not_found` for any other command. */
export async function readDeviceCommand(
  tx: Transaction,
  { nodeId }: DeviceIdentity,
  commandId: string,
): Promise<DeviceCommand> {
  const { rows } = await tx.query<FoundCommand>(
    'read_device_command',
    'SELECT status, overdue, handed_out_at FROM node_commands WHERE id = $1 AND node_id = $2',
    [commandId, nodeId],
  );
  const row = rows[0];
  if (row === undefined || !isResultOf({ ...row, handedOutAt: row.handed_out_at })) throw unknownCommand(commandId);
  return { ended: isWanted(row) ? null : row.status };
}

const isWanted = ({ status, overdue }: Pick<NodeCommandRow, 'status' | 'overdue'>) =>
  status === 'pending' || status === 'leased' || overdue;

/**
 * Whether a device may report a result of a command. `handedOutAt` alone is not enough: a crash of the database
 * can lose the lease of a read-only command.
 */
export const isResultOf = (command: Pick<NodeCommandRow, 'status' | 'overdue' | 'handedOutAt'>) =>
  command.handedOutAt !== null || isWanted(command);
