import { idBefore } from '../ids.ts';
import type { Logger } from '../observability/logger.ts';
import type { PeriodicTask } from '../process/periodic-tasks.ts';
import { DatabaseBusy, DatabaseOutage } from './database.ts';
import type { Database } from './database.ts';
import type { MonthlyTable, MonthlyPartitions } from './monthly-partitions.ts';

/** A table whose rows are kept for some days. Ids follow the time of their making, so that the oldest are the first of the primary key. */
export interface AgedTable {
  table: string;
  /** 0 keeps for ever. */
  days: number;
  /** Which rows may go, as SQL; all when left out. */
  condition?: string;
  /** Told of the rows that are gone. */
  onRemoved?: (rows: readonly { id: string; tenant_id: string }[]) => Promise<void>;
}

/** A table whose rows only help for a while. */
export interface ExpiringTable {
  table: string;
  /** `expires_at` unless said; then rows go an hour after it. */
  column?: string;
  /** How long rows stay after the instant in `column`. */
  days?: number;
}

/** What a product says of how long its rows stay. */
export interface RowRetention {
  /** Tables whose rows do not go by themselves with their workspace, those first that others refer to. */
  ofWorkspaces?: readonly string[];
  aged?: readonly AgedTable[];
  expiring?: readonly ExpiringTable[];
  /** Tables that lie by month, which are made before rows come and dropped when they are over. */
  monthly?: readonly MonthlyTable[];
}

const batch = 1_000;
const pauseMs = 20;
const maxNamedFailures = 10;
/** How long one turn may go on, in milliseconds: the next begins a minute after this one. */
const turnMs = 50_000;

/** When a turn ends at the latest: at a time, or with the process. */
export interface Turn {
  deadline: number;
  stopping: AbortSignal | undefined;
}

export const newTurn = (stopping: AbortSignal | undefined): Turn => ({
  deadline: performance.now() + turnMs,
  stopping,
});

/** Repeats a batch until one removes less than `full`, or the turn is over, with a pause that lets others at the tables. */
export async function inBatches(
  { deadline, stopping }: Turn,
  full: number,
  removeBatch: () => Promise<number>,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await removeBatch();
    removed += count;
    if (count < full || performance.now() > deadline || stopping?.aborted === true) return removed;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Work that a turn does batch by batch, for example the removal of old rows of one workspace. */
export interface BatchedTask {
  /** Named in the error when a batch fails: a workspace id or a table. */
  name: string;
  /** Does one batch and returns whether there may be more to do. */
  runBatch: () => Promise<boolean>;
}

/**
 * Runs one batch of each task in turn until all are done or the turn is over.
 * The order is random, so that no task is always the last one when a turn is too short for all.
 * A task that fails is skipped for the rest of the turn; the others continue.
 * @throws AggregateError with every failure, after the others are done; DatabaseOutage immediately.
 */
export async function runInTurns(turn: Turn, tasks: readonly BatchedTask[]): Promise<void> {
  const failures = new Map<string, unknown>();
  const isOver = () => performance.now() > turn.deadline || turn.stopping?.aborted === true;
  for (let remaining = shuffled(tasks); remaining.length > 0 && !isOver();) {
    const unfinished: BatchedTask[] = [];
    for (const task of remaining) {
      if (isOver()) break;
      try {
        if (await task.runBatch()) unfinished.push(task);
      } catch (error) {
        if (error instanceof DatabaseOutage && !(error instanceof DatabaseBusy)) throw error;
        failures.set(task.name, error);
      }
    }
    remaining = unfinished;
    if (remaining.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  if (failures.size > 0)
    throw new AggregateError(
      failures.values(),
      `failed for ${failures.size} of ${tasks.length}: ${[...failures.keys()].slice(0, maxNamedFailures).join(', ')}`,
    );
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}

/** The tables that lie by month. */
export const monthlyTables = (retentions: readonly RowRetention[]): MonthlyTable[] =>
  retentions.flatMap((retention) => retention.monthly ?? []);

async function keepMonths(
  months: MonthlyPartitions,
  tables: readonly MonthlyTable[],
  stopping: AbortSignal,
): Promise<void> {
  try {
    await months.make(tables, stopping);
  } finally {
    await months.dropOver(tables, stopping);
  }
}

/** The part of the sweep that removes what is kept no longer. */
export function retentionTasks(
  { db, logger, months }: { db: Database; logger: Logger; months: MonthlyPartitions },
  retentions: readonly RowRetention[],
): PeriodicTask[] {
  const aged = retentions.flatMap((retention) => retention.aged ?? []);
  const expiring = retentions.flatMap((retention) => retention.expiring ?? []);
  const monthly = monthlyTables(retentions);
  const ofWorkspaces = retentions.flatMap((retention) => retention.ofWorkspaces ?? []);
  return [
    { name: 'months', everyMs: 600_000, run: (stopping) => keepMonths(months, monthly, stopping) },
    { name: 'removed workspaces', everyMs: 60_000, run: (stopping) => removeLeftovers(db, ofWorkspaces, stopping) },
    { name: 'retention of rows', everyMs: 60_000, run: (stopping) => removeAged({ db, logger }, aged, stopping) },
    { name: 'expired rows', everyMs: 60_000, run: (stopping) => removeExpired(db, expiring, stopping) },
  ];
}

/** Removes rows beyond their days, in small batches; part of the sweep. Answers how many of which table. */
export async function removeAged(
  { db, logger }: { db: Database; logger: Logger },
  tables: readonly AgedTable[],
  stopping?: AbortSignal,
): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  const due = tables.filter(({ days }) => days > 0);
  const removals = due.map(({ table, days, condition, onRemoved }) => ({
    name: table,
    runBatch: async () => {
      const { rows } = await db.system(
        async (tx) => {
          const { rows: clock } = await tx.query<{ before: Date }>(
            'read_kept_from',
            // By the clock of the database: that of a process may be wrong.
            'SELECT now() - make_interval(days => $1) AS before',
            [days],
          );
          return tx.query<{ id: string; tenant_id: string }>(
            `prune_aged_${table}`,
            `DELETE FROM ${table} WHERE id = ANY(ARRAY(SELECT id FROM ${table} WHERE id < $1${condition === undefined ? '' : ` AND ${condition}`} ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING id, tenant_id`,
            [idBefore(clock[0]?.before as Date), batch],
          );
        },
        { durable: false },
      );
      if (rows.length > 0) removed[table] = (removed[table] ?? 0) + rows.length;
      await onRemoved?.(rows);
      return rows.length === batch;
    },
  }));
  try {
    await runInTurns(newTurn(stopping), removals);
  } finally {
    if (Object.keys(removed).length > 0) logger.info(removed, 'removed rows that are kept no longer');
  }
  return removed;
}

/** How long a workspace is looked after that was removed: until nothing that began before can write for it any more, in seconds. */
const leftoversSeconds = 600;

/** Removes what removed workspaces left, in small batches; part of the sweep. */
export async function removeLeftovers(db: Database, tables: readonly string[], stopping?: AbortSignal): Promise<void> {
  // Nothing goes on the word of the list alone: one that is there loses nothing, whoever wrote it down.
  await db.systemStatement(
    'forget_living_workspaces',
    'DELETE FROM removed_workspaces r USING tenants t WHERE t.id = r.tenant_id',
    [],
  );
  const removed = await db.systemStatement<{ tenant_id: string; is_over: boolean }>(
    'list_removed_workspaces',
    `SELECT tenant_id, removed_at < now() - make_interval(secs => $1) AS is_over FROM removed_workspaces r
     WHERE NOT EXISTS (SELECT FROM tenants t WHERE t.id = r.tenant_id) ORDER BY removed_at LIMIT 100`,
    [leftoversSeconds],
  );
  const removals = removed.map(({ tenant_id: tenantId, is_over: isOver }) => {
    const remaining = [...tables];
    return {
      name: tenantId,
      runBatch: async () => {
        const [table] = remaining;
        if (table !== undefined) {
          const { rowCount } = await db.system(
            (tx) =>
              tx.query(
                `remove_leftovers_${table}`,
                `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE tenant_id = $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
                [tenantId, batch],
              ),
            { durable: false },
          );
          if (rowCount !== batch) remaining.shift();
          return true;
        }
        if (isOver)
          await db.systemStatement('forget_removed_workspace', 'DELETE FROM removed_workspaces WHERE tenant_id = $1', [
            tenantId,
          ]);
        return false;
      },
    };
  });
  await runInTurns(newTurn(stopping), removals);
}

/** Removes expired rows, one batch of each table in turn; part of the sweep. Rows that another transaction has locked wait for the next sweep. */
export async function removeExpired(
  db: Database,
  tables: readonly ExpiringTable[],
  stopping?: AbortSignal,
): Promise<void> {
  const removals = tables.map(({ table, column = 'expires_at', days }) => {
    const isOver =
      days === undefined ? `${column} < now() - interval '1 hour'` : `${column} < now() - make_interval(days => $2)`;
    return {
      name: table,
      runBatch: async () => {
        const { rowCount } = await db.system(
          (tx) =>
            tx.query(
              `prune_expired_${table}`,
              `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${isOver} ORDER BY ${column} LIMIT $1 FOR UPDATE SKIP LOCKED))`,
              days === undefined ? [batch] : [batch, days],
            ),
          { durable: false },
        );
        return rowCount === batch;
      },
    };
  });
  await runInTurns(newTurn(stopping), removals);
}
