import type { JsonObject } from '../../../../shared/json.ts';
import type { RowSink } from '../../../engine/skill.ts';
import { newId } from '../../../platform/ids.ts';

export interface MessageRecord {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  /** `webhook`, `email`, `campaign`, or the provider of a channel. */
  channel: string;
  recipient: string;
  status: 'delivered' | 'simulated' | 'failed';
  summary: JsonObject;
}

/** Topic of notifications about recorded messages. */
export const messagesTopic = (tenantId: string) => `messages:${tenantId}`;

/** Records outbound messages, simulated ones included. */
export const messageRecords: RowSink<MessageRecord> = {
  async insert(tx, records) {
    const [first] = records;
    if (first === undefined) return;
    tx.changed(messagesTopic(first.tenantId));
    await tx.query(
      'insert_messages',
      `INSERT INTO messages (id, tenant_id, run_id, workflow_id, step_index, channel, recipient, status, summary)
       SELECT id, $1, "runId", "workflowId", "stepIndex", channel, recipient, status, summary
       FROM jsonb_to_recordset($2::jsonb) AS g(id uuid, "workflowId" uuid, "runId" uuid, "stepIndex" int, channel text, recipient text, status text, summary jsonb)`,
      [first.tenantId, JSON.stringify(records.map((record) => ({ id: newId(), ...record })))],
    );
  },
};

export interface LogLine {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** Topic of notifications about new log lines. */
export const logsTopic = (tenantId: string) => `logs:${tenantId}`;

/** Appends lines to the logs of runs of one workspace. */
export const logLines: RowSink<LogLine> = {
  async insert(tx, lines) {
    const [first] = lines;
    if (first === undefined) return;
    tx.changed(logsTopic(first.tenantId));
    await tx.query(
      'insert_logs',
      `INSERT INTO run_logs (id, tenant_id, run_id, workflow_id, step_index, level, message)
       SELECT id, $1, run_id, workflow_id, step_index, level, message
       FROM jsonb_to_recordset($2::jsonb) AS g(id uuid, run_id uuid, workflow_id uuid, step_index int, level text, message text)`,
      [
        first.tenantId,
        JSON.stringify(
          lines.map(({ workflowId, runId, stepIndex, level, message }) => ({
            id: newId(),
            run_id: runId,
            workflow_id: workflowId,
            step_index: stepIndex,
            level,
            message,
          })),
        ),
      ],
    );
  },
};
