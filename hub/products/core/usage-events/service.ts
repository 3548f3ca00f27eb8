import type { z } from 'zod';
import { maxUsageTotalDays } from '../../../../shared/contract/core/usage-events.ts';
import type {
  UsageEvent,
  usageEvents as resource,
  UsageTotals,
} from '../../../../shared/contract/core/usage-events.ts';
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

interface TotalRow {
  day: string;
  kind: UsageEvent['kind'];
  environment: UsageEvent['environment'];
  count: number;
}

const dayMs = 86_400_000;
const defaultDays = 30;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const monthOf = (day: string) => day.slice(0, 7);
const lastDayOf = (month: string) => {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return dayOf(Date.UTC(year, number, 0));
};

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

  /** Counts usage by day and by month, in UTC. @throws AppError `validation_failed`. */
  async totals(tenantId: string, query: z.output<typeof resource.getUsageTotals.query>): Promise<UsageTotals> {
    const toMs = query.to === undefined ? Date.now() : Date.parse(query.to);
    const to = dayOf(toMs);
    const from = query.from ?? dayOf(toMs - (defaultDays - 1) * dayMs);
    const days = Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
    if (days < 1) invalid('query.from', 'must not be after query.to');
    if (days > maxUsageTotalDays) invalid('query.from', `must be at most ${maxUsageTotalDays} days before query.to`);
    const { kind } = query;
    const rows = await this.#db.read(tenantId, async (tx) => {
      const found = await tx.query<TotalRow>(
        kind === undefined ? 'sum_usage_days' : 'sum_usage_days_of_kind',
        `SELECT day::text, kind, environment, sum(count)::float8 AS count FROM usage_day_sums
         WHERE tenant_id = $1 AND day BETWEEN $2::date AND $3::date${kind === undefined ? '' : ' AND kind = $4'}
         GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3`,
        [tenantId, `${monthOf(from)}-01`, lastDayOf(monthOf(to)), ...(kind === undefined ? [] : [kind])],
      );
      return found.rows;
    });
    const months = new Map<string, UsageTotals['months'][number]>();
    for (const { day, count, ...of } of rows) {
      const key = `${monthOf(day)} ${of.kind} ${of.environment}`;
      months.set(key, { month: monthOf(day), ...of, count: (months.get(key)?.count ?? 0) + count });
    }
    return {
      from,
      to,
      days: rows.filter(({ day }) => day >= from && day <= to),
      months: [...months.values()].toSorted(
        (one, two) =>
          two.month.localeCompare(one.month) ||
          one.kind.localeCompare(two.kind) ||
          one.environment.localeCompare(two.environment),
      ),
    };
  }
}

function invalid(path: string, message: string): never {
  throw new AppError('validation_failed', `${path} ${message}`, { details: [{ path, message }] });
}
