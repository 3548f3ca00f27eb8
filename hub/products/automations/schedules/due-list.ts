import type { Database } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';

/** Schedules that one transaction fires. */
export const batchSize = 1_000;
/** Definitions that one transaction reads at most, in bytes as PostgreSQL keeps them in memory; parsed, they use up to 8 times as much. */
const batchBytes = 8 * 1024 * 1024;
/** Definitions beyond this size are fired after all others, each in a transaction of its own, in bytes. */
const largeBytes = 64 * 1024;
/** Length on disk beyond which a definition counts as large without being decompressed, in bytes. */
const largeOnDisk = 8 * 1024;
/** Schedules that one look fires; those that fell due meanwhile and those beyond it are for the next one. */
const maxAtOnce = 20_000;

export interface DueSchedule {
  [column: string]: unknown;
  id: string;
  tenant_id: string;
  /** Size of its definition in the memory of PostgreSQL, in bytes; more than `largeBytes` for every large one. */
  bytes: number;
}

/** Whether a schedule fires by itself, after the others. */
export const isLarge = ({ bytes }: DueSchedule): boolean => bytes > largeBytes;

/** Divides schedules into batches of one transaction each, by their number and by the size of their definitions. */
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

/** The workflows whose schedules are due: the first of each workspace, then the second of each, and so on. */
export async function listDue(db: Database): Promise<DueSchedule[]> {
  return db.systemStatement<DueSchedule>(
    'list_due_schedules',
    `SELECT d.id, w.tenant_id, CASE WHEN pg_column_size(w.steps) > ${largeOnDisk} OR pg_column_size(w.inputs) > ${largeOnDisk} THEN ${largeBytes + 1}
       ELSE ${memorySize('w.steps', '[]')} + ${memorySize('w.inputs', '{}')} END AS bytes
     FROM (SELECT id, next_run_at, row_number() OVER (PARTITION BY tenant_id ORDER BY next_run_at) AS turn FROM workflows WHERE next_run_at <= now()
       ORDER BY turn, next_run_at LIMIT $1) d JOIN workflows w ON w.id = d.id
     ORDER BY d.turn, d.next_run_at`,
    [maxAtOnce],
  );
}
