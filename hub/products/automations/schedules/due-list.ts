import type { Database } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';

/** Maximum schedules that one transaction fires. */
export const batchSize = 1_000;
/**
 * Maximum total size of the definitions that one transaction reads, in bytes of PostgreSQL memory. Parsed definitions
 * use up to 8 times as much.
 */
const batchBytes = 8 * 1024 * 1024;
/** Size above which a definition is fired after all others in its own transaction, in bytes. */
const largeBytes = 64 * 1024;
/** Compressed size above which a definition counts as large without being decompressed, in bytes. */
const largeCompressedBytes = 8 * 1024;
/** Maximum schedules that one pass fires. The next pass fires the rest. */
const maxPerPass = 20_000;

export interface DueSchedule {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  /** Size of the definition in PostgreSQL memory, in bytes; more than `largeBytes` for every large definition. */
  bytes: number;
}

/** Whether a schedule is fired after the others in its own transaction. */
export const isLarge = ({ bytes }: DueSchedule): boolean => bytes > largeBytes;

/** Divides schedules into batches of one transaction each, limited by number and by the size of their definitions. */
export function batchesOf(due: readonly DueSchedule[]): string[][] {
  const batches: string[][] = [];
  let [batch, bytes] = [[] as string[], 0];
  for (const schedule of due) {
    if (batch.length === 0 || batch.length === batchSize || bytes + schedule.bytes > batchBytes) {
      batches.push((batch = []));
      bytes = 0;
    }
    batch.push(schedule.id);
    bytes += schedule.bytes;
  }
  return batches;
}

/**
 * Workflows with due schedules, round-robin over workspaces: the first of each workspace, then the second of each, and
 * so on.
 */
export async function listDue(db: Database): Promise<DueSchedule[]> {
  return db.systemStatement<DueSchedule>(
    'list_due_schedules',
    `SELECT d.id, w.tenant_id, CASE WHEN pg_column_size(w.steps) > ${largeCompressedBytes} OR pg_column_size(w.inputs) > ${largeCompressedBytes} THEN ${largeBytes + 1}
       ELSE ${memorySize('w.steps', '[]')} + ${memorySize('w.inputs', '{}')} END AS bytes
     FROM (SELECT id, next_run_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_run_at) AS turn FROM workflows WHERE next_run_at <= now()
       ORDER BY turn, next_run_at LIMIT $1) d JOIN workflows w ON w.id = d.id
     ORDER BY d.turn, d.next_run_at`,
    [maxPerPass],
  );
}
