import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { readKamailioEvent } from '../carrier/index.ts';
import type { CallEvent, Calls } from '../records/index.ts';

export interface SipReportsOptions {
  db: Database;
  calls: Pick<Calls, 'mergeAll'>;
  logger: Logger;
}

interface Report {
  id: number;
  report: string;
  tries: number;
}
interface Row extends Report {
  tenantId: string;
}

/** A page of workspaces, and reports of each: none waits for more than so many of another. */
const workspacesAtOnce = 20;
const reportsOfWorkspace = 50;
/** With twice the time between them up to 10 min, about as long as a call may be silent until its record is closed. */
const maxTries = 30;
const firstId = '00000000-0000-0000-0000-000000000000';

// From one workspace to the next by the index, whatever waits of each.
const readPage = `WITH RECURSIVE found AS (
    (SELECT tenant_id FROM sip_reports WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.tenant_id FROM sip_reports r WHERE r.tenant_id > f.tenant_id ORDER BY r.tenant_id LIMIT 1) FROM found f WHERE f.tenant_id IS NOT NULL
  ), page AS (SELECT tenant_id FROM found WHERE tenant_id IS NOT NULL LIMIT $2)
  SELECT p.tenant_id AS "tenantId", r.id, r.report, r.tries FROM page p LEFT JOIN LATERAL (
    SELECT id, report, tries FROM sip_reports WHERE tenant_id = p.tenant_id AND due_at <= now() ORDER BY due_at, id LIMIT $3
  ) r ON true ORDER BY p.tenant_id`;

/** Has what the SIP server says of calls stand in their records, whatever came before: it says so in the database, where it waits for a hub that is away. */
export class SipReports {
  readonly #options: SipReportsOptions;

  constructor(options: SipReportsOptions) {
    this.#options = options;
  }

  /** Takes all that is due, workspace by workspace. What cannot be written is tried again by itself, later each time, and given up at last. */
  async take(stopping: AbortSignal): Promise<void> {
    let after = firstId;
    let isMore = false;
    while (!stopping.aborted) {
      const rows = await this.#options.db.systemStatement<{ [Name in keyof Row]: Row[Name] | null }>(
        'read_sip_reports',
        readPage,
        [after, workspacesAtOnce, reportsOfWorkspace],
      );
      const workspaces = Map.groupBy(rows, ({ tenantId }) => tenantId as string);
      const outcomes = await Promise.allSettled(
        [...workspaces].map(([tenantId, ofWorkspace]) => {
          const due = ofWorkspace.filter((row): row is Row => row.id !== null);
          isMore ||= due.length === reportsOfWorkspace;
          return this.#takeAll(tenantId, due);
        }),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
      if (workspaces.size === workspacesAtOnce) after = rows.at(-1)?.tenantId as string;
      else if (isMore) [after, isMore] = [firstId, false];
      else return;
    }
  }

  /** Those that could not be written before, one by one: the others are no worse for them. */
  async #takeAll(tenantId: string, reports: Report[]): Promise<void> {
    await this.#write(
      tenantId,
      reports.filter(({ tries }) => tries === 0),
    );
    for (const report of reports) if (report.tries > 0) await this.#write(tenantId, [report]);
  }

  async #write(tenantId: string, reports: Report[]): Promise<void> {
    if (reports.length === 0) return;
    const { db, calls, logger } = this.#options;
    const ids = reports.map(({ id }) => id);
    try {
      await calls.mergeAll(
        tenantId,
        reports.flatMap((report) => this.#read(tenantId, report)),
      );
    } catch (error) {
      const isFirst = reports.some(({ tries }) => tries === 0);
      if (isFirst) logger.warn({ err: error, tenantId }, 'calls could not be recorded; they are tried again');
      const over = await db.systemStatement(
        'postpone_sip_reports',
        `WITH over AS (DELETE FROM sip_reports WHERE id = ANY($1::bigint[]) AND tries + 1 >= $2 RETURNING id),
           later AS (UPDATE sip_reports SET tries = tries + 1, due_at = now() + least(600, 2 ^ (tries + 1)) * interval '1 second'
             WHERE id = ANY($1::bigint[]) AND tries + 1 < $2)
         SELECT id FROM over`,
        [ids, maxTries],
      );
      if (over.length > 0)
        logger.error({ err: error, tenantId }, 'what the SIP server said of a call could not be recorded, and is left');
      return;
    }
    await db.systemStatement('delete_sip_reports', 'DELETE FROM sip_reports WHERE id = ANY($1::bigint[])', [ids]);
  }

  #read(tenantId: string, { report }: Report): CallEvent[] {
    try {
      return [readKamailioEvent(JSON.parse(report))];
    } catch (error) {
      this.#options.logger.warn({ err: error, tenantId }, 'what the SIP server said of a call could not be read');
      return [];
    }
  }
}
