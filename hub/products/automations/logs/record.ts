import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { noteWritten } from '../../../platform/db/transaction.ts';
import { newId } from '../../../platform/ids.ts';

export interface MessageRecord {
  tenantId: string;
  runId: string | null;
  stepIndex: number | null;
  /** `webhook`, `email`, `campaign`, or the provider of a channel. */
  channel: string;
  recipient: string;
  status: 'delivered' | 'simulated' | 'failed';
  summary: JsonObject;
}

/** The topic under which it is told live that messages were recorded. */
export const messagesTopic = (tenantId: string) => `messages:${tenantId}`;

/** Keeps what left the platform, or would have. */
export async function recordMessage(tx: Transaction, message: MessageRecord): Promise<void> {
  noteWritten(tx, messagesTopic(message.tenantId));
  await tx.query(
    'record_message',
    `INSERT INTO messages (id, tenant_id, run_id, workflow_id, step_index, channel, recipient, status, summary)
     VALUES ($1, $2, $3, (SELECT workflow_id FROM runs WHERE id = $3), $4, $5, $6, $7, $8)`,
    [
      newId(),
      message.tenantId,
      message.runId,
      message.stepIndex,
      message.channel,
      message.recipient,
      message.status,
      JSON.stringify(message.summary),
    ],
  );
}

export interface LogLine {
  tenantId: string;
  runId: string;
  stepIndex: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** The topic under which it is told live that lines were written. */
export const logsTopic = (tenantId: string) => `logs:${tenantId}`;

/** Adds a line to the log of a run, in the caller's transaction. */
export async function insertLog(tx: Transaction, line: LogLine): Promise<void> {
  noteWritten(tx, logsTopic(line.tenantId));
  await tx.query(
    'insert_log',
    `INSERT INTO run_logs (id, tenant_id, run_id, workflow_id, step_index, level, message)
     VALUES ($1, $2, $3, (SELECT workflow_id FROM runs WHERE id = $3), $4, $5, $6)`,
    [newId(), line.tenantId, line.runId, line.stepIndex, line.level, line.message],
  );
}
