import type { JsonObject } from '../../../../shared/json.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { sql } from '../../../platform/db/orm.ts';
import { noteWritten } from '../../../platform/db/transaction.ts';
import { newId } from '../../../platform/ids.ts';
import { messages, runLogs } from './schema.ts';

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
  await tx
    .insert(messages)
    .values({ id: newId(), workflowId: sql`(select workflow_id from runs where id = ${message.runId})`, ...message });
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
  await tx
    .insert(runLogs)
    .values({ id: newId(), workflowId: sql`(select workflow_id from runs where id = ${line.runId})`, ...line });
}
