import type { z } from 'zod';
import type { UsageEvent, usageEvents as resource } from '../../../../shared/contract/core/usage-events.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { idBefore } from '../../../platform/ids.ts';

interface Row {
  id: string;
  kind: UsageEvent['kind'];
  subject_id: string;
  environment: UsageEvent['environment'];
  created_at: Date;
}

const maxId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const minId = '00000000-0000-0000-0000-000000000000';

/** Usage that the products record for billing. */
export class UsageEvents {
  readonly #db: Database;
  readonly #cursors: Cursors;

  constructor({ db, cursors }: { db: Database; cursors: Cursors }) {
    this.#db = db;
    this.#cursors = cursors;
  }

  /** Lists usage, newest first. @throws AppError `validation_failed` if `from` is not before `to`. */
  list(
    tenantId: string,
    { kind, from, to, ...page }: z.output<typeof resource.listUsageEvents.query>,
  ): Promise<{ data: UsageEvent[]; meta: { limit: number; nextCursor: string | null } }> {
    if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to))
      throw new AppError('validation_failed', 'from must be before to.', {
        details: [{ path: 'query.from', message: 'must be before to' }],
      });
    const read = async (limit: number, before: string | undefined) =>
      this.#db.read(tenantId, async (tx) => {
        const { rows } = await tx.query<Row>(
          kind === undefined ? 'list_usage_events' : 'list_usage_events_of_kind',
          `SELECT id, kind, subject_id, environment, created_at FROM usage_events
           WHERE tenant_id = $1 AND id < $2 AND id >= $3${kind === undefined ? '' : ' AND kind = $5'} ORDER BY id DESC LIMIT $4`,
          [
            tenantId,
            [before ?? maxId, to === undefined ? maxId : idBefore(new Date(to))].toSorted()[0],
            from === undefined ? minId : idBefore(new Date(from)),
            limit,
            ...(kind === undefined ? [] : [kind]),
          ],
        );
        return rows;
      });
    return readPage(
      this.#cursors,
      `usage-events:${tenantId}`,
      page,
      read,
      ({ id, kind: kindOfRow, subject_id: subjectId, environment: environmentOfRow, created_at: createdAt }) => ({
        id,
        kind: kindOfRow,
        subjectId,
        environment: environmentOfRow,
        createdAt: createdAt.toISOString(),
      }),
    );
  }
}
