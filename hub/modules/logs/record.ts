import { sql } from 'drizzle-orm';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { noteWritten } from '../../platform/db/transaction.ts';
import { messages } from '../../platform/db/schema.ts';
import { newId } from '../../platform/ids.ts';

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
