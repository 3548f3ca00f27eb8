import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { DeviceIdentity } from '../store.ts';
import type { NodeCommandRow } from './command-rows.ts';

/** A command as the device that has it may see it. */
export interface DeviceCommand {
  /** How it ended; null while its result is wanted, which it is, too, after the hub ended it for want of one. */
  ended: NodeCommandRow['status'] | null;
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
  handed_out_at: Date | null;
}

/** A command that was handed out to a device. @throws AppError `not_found` for any other. */
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

/** Whether a device may have the result of a command: that one which reads was handed out is forgotten when the database crashes. */
export const isResultOf = (command: Pick<NodeCommandRow, 'status' | 'overdue' | 'handedOutAt'>) =>
  command.handedOutAt !== null || isWanted(command);
