import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from 'pg';
import { idBefore } from '../ids.ts';
import type { Logger } from '../observability/logger.ts';
import { toOutage } from './errors.ts';

/** A table that lies in a part for each month, UTC, by a key that is a UUIDv7. */
export interface MonthlyTable {
  table: string;
  key: string;
  /** How many days each row is kept at least: it goes with its month, once that lies wholly before; left out or 0, never by this. */
  days?: number;
}

/** A part of a table: its keys go from `from` to right before `until`. */
export interface Part {
  name: string;
  /** Null for the first part of all. */
  from: string | null;
  until: string;
}

export interface MonthsOptions {
  /** postgres:// URL of the user that owns the tables. */
  url: string;
  logger: Logger;
}

/** Months for which there are parts, the current one among them. */
const monthsAhead = 3;
/** How long others may stand behind a change of the parts that waits itself, in milliseconds. */
const lockTimeoutMs = 100;
const statementTimeoutMs = 10_000;
const maxTries = 20;
const pauseMs = 400;
/** So many rows that were written before there was a part of their month are put there while writers wait; more stay where they are. */
const maxMoved = 10_000;
/** So many rows of whatever time may lie in the default part when a part is made: all of them are read while everybody waits. */
const maxRead = 100_000;
/** Rows that go one by one: so many at once, with a pause, and for so long in one turn. */
const batch = 1_000;
const pauseBetweenMs = 20;
const turnMs = 50_000;
const dayMs = 86_400_000;
/** Spells "outm": of several processes that change the parts of tables, one does at a time. */
const monthsLock = 0x6f75746d;
const passingCodes = new Set(['55P03', '40P01', '40001']);
/** What took too long does so again, and others stood behind it all the while: that is for another turn. */
const tookTooLong = '57014';

export const monthStart = (at: Date, further = 0) =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + further));
const daysBefore = (at: Date, days: number) => new Date(at.getTime() - days * dayMs);
/** The instant of an id that begins a month. */
export const instantOf = (id: string) => new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16));

/**
 * The parts of tables that lie by month. All of it is done as the owner of the tables, on a connection of its own: whoever works on their rows may neither
 * make nor drop a part, nor read one but through its table and that table's policies. Each change is one transaction, so that there is no
 * half of one, and waits for its locks for a moment only.
 */
export class MonthlyPartitions {
  readonly #options: MonthsOptions;

  constructor(options: MonthsOptions) {
    this.#options = options;
  }

  /**
   * Makes the parts of this and the next months that are missing; what was written of them meanwhile lies in the default part and moves. Safe to
   * call from several processes at once. Where it finds no moment for it, it says so in the log, and the default part takes the rows.
   * @param at instead of now, by the clock of the database.
   * @throws DatabaseOutage.
   */
  async make(tables: readonly MonthlyTable[], signal?: AbortSignal, at?: Date): Promise<void> {
    await this.#connected(async (client) => {
      const now = at ?? (await readClock(client));
      for (const monthly of tables) {
        for (let further = 0; further < monthsAhead; further += 1) {
          const month = monthStart(now, further);
          const table = `${monthly.table} of ${month.toISOString().slice(0, 7)}`;
          if (covers(await partsOf(client, monthly.table), month)) continue;
          const outcome = await this.#inAMoment(client, signal, () => makePart(client, monthly, month));
          if (outcome !== 'done') this.#options.logger.warn({ table, outcome }, 'a month has no part yet');
        }
      }
    });
  }

  /** What time it is by the clock of the database: that of a process may be wrong, and what is dropped is gone. @throws DatabaseOutage. */
  now(): Promise<Date> {
    return this.#connected(readClock);
  }

  /**
   * Drops the months of tables that lie wholly before what is kept; answers the names of the parts.
   * @param at instead of now, by the clock of the database.
   * @throws DatabaseOutage.
   */
  async dropOver(tables: readonly MonthlyTable[], signal?: AbortSignal, at?: Date): Promise<string[]> {
    const now = at ?? (await this.now());
    const dropped: string[] = [];
    for (const { table, key, days = 0 } of tables) {
      if (days === 0) continue;
      const before = idBefore(daysBefore(now, days));
      for (const part of await this.partsBefore(table, before)) {
        if (signal?.aborted === true) return dropped;
        if (await this.drop(table, part.name, signal)) dropped.push(part.name);
      }
      await this.#connected(async (client) => {
        await removeRows(client, `${table}_default`, key, before, signal);
        // What was there before there were months would else stay as long again.
        for (const { name, from } of await partsOf(client, table))
          if (from === null) await removeRows(client, name, key, before, signal);
      });
    }
    return dropped;
  }

  /** The parts of a table that end before an id or right at it, oldest first. */
  partsBefore(table: string, id: string): Promise<Part[]> {
    return this.#connected(async (client) => (await partsOf(client, table)).filter(({ until }) => until <= id));
  }

  /**
   * Drops a part with all its rows. Not detached first: that would lock the table it refers to as well, and can't be done beside others where there is
   * a default part. False when there was no moment for it.
   */
  drop(table: string, name: string, signal?: AbortSignal): Promise<boolean> {
    return this.#connected(async (client) => {
      const outcome = await this.#inAMoment(client, signal, async () => {
        await client.query('SELECT pg_advisory_xact_lock($1)', [monthsLock]);
        if (!(await partsOf(client, table)).some((part) => part.name === name)) return 'gone';
        await client.query(`DROP TABLE ${escapeIdentifier(name)}`);
        return 'done';
      });
      if (outcome === 'done') this.#options.logger.info({ table: name }, 'dropped a month that is kept no longer');
      return outcome === 'done';
    });
  }

  /** Does a change in a transaction, again and again until it finds its locks free. */
  async #inAMoment(client: Client, signal: AbortSignal | undefined, change: () => Promise<string>): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        await client.query(`BEGIN; SET LOCAL lock_timeout = ${lockTimeoutMs}`);
        const outcome = await change();
        await client.query('COMMIT');
        return outcome;
      } catch (error) {
        await client.query('ROLLBACK').catch(() => undefined);
        if (!(error instanceof DatabaseError)) throw error;
        if (error.code === tookTooLong) return error.message;
        if (!passingCodes.has(error.code ?? '')) throw error;
        if (tries >= maxTries || signal?.aborted === true) return error.message;
        await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #connected<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const client = new Client({
      connectionString: this.#options.url,
      application_name: 'outrigger-months',
      connectionTimeoutMillis: 10_000,
      statement_timeout: statementTimeoutMs,
      query_timeout: 2 * statementTimeoutMs,
    });
    // Without a listener a connection that dies would end the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } catch (error) {
      throw toOutage(error) ?? error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

async function readClock(client: Client): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]?.now as Date;
}

const covers = (parts: readonly Part[], month: Date) =>
  parts.some(({ from, until }) => (from === null || instantOf(from) <= month) && month < instantOf(until));

/** Removes rows that are over from a part that is no month, in small batches; what somebody holds goes with its run, or in the next turn. */
async function removeRows(
  client: Client,
  part: string,
  key: string,
  before: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const [table, column] = [escapeIdentifier(part), escapeIdentifier(key)];
  const statement = `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${column} < $1 ORDER BY ${column} LIMIT ${batch} FOR UPDATE SKIP LOCKED))`;
  for (const deadline = performance.now() + turnMs; performance.now() < deadline && signal?.aborted !== true;) {
    const { rowCount } = await client.query(statement, [before]);
    if (rowCount !== batch) return;
    await sleep(pauseBetweenMs, undefined, { signal }).catch(() => undefined);
  }
}

async function partsOf(client: Client, table: string): Promise<Part[]> {
  const { rows } = await client.query<Part>(
    `SELECT name, substring(bound FROM 'FROM \\(''([^'']+)''') AS "from", substring(bound FROM 'TO \\(''([^'']+)''') AS until FROM (
       SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass($1)) parts
     WHERE bound <> 'DEFAULT' ORDER BY until`,
    [`public.${escapeIdentifier(table)}`],
  );
  return rows;
}

/** Makes the part of a month; its rows in the default part move there. */
async function makePart(client: Client, { table, key }: MonthlyTable, month: Date): Promise<string> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [monthsLock]);
  const [from, until] = [idBefore(month), idBefore(monthStart(month, 1))];
  if (covers(await partsOf(client, table), month)) return 'done';
  const [parent, rest] = [escapeIdentifier(table), escapeIdentifier(`${table}_default`)];
  const part = escapeIdentifier(`${table}_${month.toISOString().slice(0, 7).replace('-', '_')}`);
  const ofMonth = `${escapeIdentifier(key)} >= ${escapeLiteral(from)} AND ${escapeIdentifier(key)} < ${escapeLiteral(until)}`;
  const { rows: read } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM (SELECT 1 FROM ${rest} LIMIT ${maxRead + 1}) few`,
  );
  if ((read[0]?.count ?? 0) > maxRead) return `more than ${maxRead} rows lie in the default part`;
  await client.query(
    `CREATE TABLE ${part} (LIKE ${parent} INCLUDING ALL); ALTER TABLE ${part} ENABLE ROW LEVEL SECURITY; REVOKE ALL ON ${part} FROM outrigger_app, outrigger_system`,
  );
  // In the order in which writers have their locks: first the table that is referred to.
  const { rows: referred } = await client.query<{ name: string }>(
    `SELECT DISTINCT confrelid::regclass::text AS name FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype = 'f' ORDER BY 1`,
    [`public.${parent}`],
  );
  for (const { name } of referred) await client.query(`LOCK TABLE ${name} IN SHARE ROW EXCLUSIVE MODE`);
  await client.query(`LOCK TABLE ${rest} IN ACCESS EXCLUSIVE MODE`);
  const { rowCount } = await client.query(`SELECT 1 FROM ${rest} WHERE ${ofMonth} LIMIT ${maxMoved + 1}`);
  if ((rowCount ?? 0) > maxMoved) {
    // Nothing of it stays, and the locks go, before anybody waits for them any longer.
    await client.query('ROLLBACK; BEGIN');
    return `more than ${maxMoved} rows of it lie in the default part`;
  }
  await client.query(
    `WITH moved AS (DELETE FROM ${rest} WHERE ${ofMonth} RETURNING *) INSERT INTO ${part} SELECT * FROM moved;
     ALTER TABLE ${parent} ATTACH PARTITION ${part} FOR VALUES FROM (${escapeLiteral(from)}) TO (${escapeLiteral(until)})`,
  );
  return 'done';
}
