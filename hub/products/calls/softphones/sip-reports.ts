import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/logger.ts';
import { readKamailioEvent } from '../carrier/index.ts';
import type { CallEvent, Calls } from '../records/index.ts';

export interface SipReportsOptions {
  db: Database;
  calls: Pick<Calls, 'mergeAll'>;
  logger: Logger;
}

interface Row {
  id: number;
  tenantId: string;
  report: string;
}

const reportsAtOnce = 1_000;

/** Has what the SIP server says of calls stand in their records, whatever came before: it says so in the database, where it waits for a hub that is away. */
export class SipReports {
  readonly #options: SipReportsOptions;

  constructor(options: SipReportsOptions) {
    this.#options = options;
  }

  /** @throws Error where the records of a workspace could not be written; what was said of it waits. */
  async take(stopping: AbortSignal): Promise<void> {
    const { db, calls } = this.#options;
    while (!stopping.aborted) {
      const rows = await db.systemStatement<Row>(
        'read_sip_reports',
        'SELECT id, tenant_id AS "tenantId", report FROM sip_reports ORDER BY id LIMIT $1',
        [reportsAtOnce],
      );
      const outcomes = await Promise.allSettled(
        [...Map.groupBy(rows, ({ tenantId }) => tenantId)].map(async ([tenantId, reports]) => {
          await calls.mergeAll(
            tenantId,
            reports.flatMap((row) => this.#read(row)),
          );
          const ids = reports.map(({ id }) => id);
          await db.systemStatement('delete_sip_reports', 'DELETE FROM sip_reports WHERE id = ANY($1::bigint[])', [ids]);
        }),
      );
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
      if (rows.length < reportsAtOnce) return;
    }
  }

  #read({ tenantId, report }: Row): CallEvent[] {
    try {
      return [readKamailioEvent(JSON.parse(report))];
    } catch (error) {
      this.#options.logger.warn({ err: error, tenantId }, 'what the SIP server said of a call could not be read');
      return [];
    }
  }
}
