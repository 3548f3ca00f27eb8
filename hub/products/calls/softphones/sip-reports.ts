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

/** Workspaces per page and reports per workspace, so that no workspace waits long for another. */
const maxWorkspacesPerPage = 20;
const maxReportsPerWorkspace = 50;
/** The interval doubles up to 10 min. The attempts last about as long as a silent call stays open. */
const maxTries = 30;
const firstId = '00000000-0000-0000-0000-000000000000';

// Skips from workspace to workspace by the index, independent of the number of reports.
const readPage = `WITH RECURSIVE found AS (
    (SELECT tenant_id FROM sip_reports WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT r.tenant_id FROM sip_reports r WHERE r.tenant_id > f.tenant_id ORDER BY r.tenant_id LIMIT 1) FROM found f WHERE f.tenant_id IS NOT NULL
  ), page AS (SELECT tenant_id FROM found WHERE tenant_id IS NOT NULL LIMIT $2)
  SELECT p.tenant_id AS "tenantId", r.id, r.report, r.tries FROM page p LEFT JOIN LATERAL (
    SELECT id, report, tries FROM sip_reports WHERE tenant_id = p.tenant_id AND due_at <= now() ORDER BY due_at, id LIMIT $3
  ) r ON true ORDER BY p.tenant_id`;

/**
 * Merges the call reports of the SIP server into the call records. The SIP server inserts reports in the database, so
 * they survive an outage of the hub.
 */
export class SipReports {
  readonly #options: SipReportsOptions;

  constructor(options: SipReportsOptions) {
    this.#options = options;
  }

  /**
   * Merges all due reports, workspace by workspace. A failed report is retried with back-off and dropped after
   * `maxTries`.
   */
  async run(stopping: AbortSignal): Promise<void> {
    let after = firstId;
    let isMore = false;
    while (!stopping.aborted) {
      const rows = await this.#options.db.systemStatement<{ [Name in keyof Row]: Row[Name] | null }>(
        'read_sip_reports',
        readPage,
        [after, maxWorkspacesPerPage, maxReportsPerWorkspace],
      );
      const workspaces = Map.groupBy(rows, ({ tenantId }) => tenantId as string);
      const outcomes = await Promise.allSettled(
        [...workspaces].map(([tenantId, ofWorkspace]) => {
          const due = ofWorkspace.filter((row): row is Row => row.id !== null);
          isMore ||= due.length === maxReportsPerWorkspace;
          return this.#writeAll(tenantId, due);
        }),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
      if (workspaces.size === maxWorkspacesPerPage) after = rows.at(-1)?.tenantId as string;
      else if (isMore) [after, isMore] = [firstId, false];
      else return;
    }
  }

  /** Writes failed reports one by one, so that they do not make the others fail. */
  async #writeAll(tenantId: string, reports: Report[]): Promise<void> {
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
      if (isFirst) logger.warn({ err: error, tenantId }, 'recording calls failed; the hub retries it');
      const dropped = await db.systemStatement(
        'postpone_sip_reports',
        `WITH over AS (DELETE FROM sip_reports WHERE id = ANY($1::bigint[]) AND tries + 1 >= $2 RETURNING id),
           later AS (UPDATE sip_reports SET tries = tries + 1, due_at = now() + least(600, 2 ^ (tries + 1)) * interval '1 second'
             WHERE id = ANY($1::bigint[]) AND tries + 1 < $2)
         SELECT id FROM over`,
        [ids, maxTries],
      );
      if (dropped.length > 0)
        logger.error({ err: error, tenantId }, 'a call report of the SIP server failed too often and was dropped');
      return;
    }
    await db.systemStatement('delete_sip_reports', 'DELETE FROM sip_reports WHERE id = ANY($1::bigint[])', [ids]);
  }

  #read(tenantId: string, { report }: Report): CallEvent[] {
    try {
      return [readKamailioEvent(JSON.parse(report))];
    } catch (error) {
      this.#options.logger.warn({ err: error, tenantId }, 'a call report of the SIP server is invalid');
      return [];
    }
  }
}
