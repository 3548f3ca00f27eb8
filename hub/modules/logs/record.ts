import { sql } from 'drizzle-orm';
import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
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

/** Keeps what left the platform, or would have. */
export async function recordMessage(tx: Transaction, message: MessageRecord): Promise<void> {
  await tx.insert(messages).values({ id: newId(), workflowId: sql`(select workflow_id from runs where id = ${message.runId})`, ...message });
}
