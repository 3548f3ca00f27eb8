import type { CallDirection, CallProvider, CallResult } from '../../../../shared/contract/calls/records.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { callColumns } from './present.ts';
import type { CallRow } from './present.ts';

/** Filter for lists and exports. An omitted field matches every call. */
export interface CallFilter {
  direction?: CallDirection | undefined;
  result?: CallResult | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Position of a call in a list. */
export interface CallPosition {
  startedAt: Date;
  id: string;
}

/**
 * Builds the query for the newest calls after a position. Each combination of filters is a separate prepared statement,
 * so that each uses its own index.
 */
export function newestCalls(
  tenantId: string,
  { direction, result, from, to }: CallFilter,
  after: CallPosition | undefined,
  limit: number,
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [tenantId, limit];
  const given: string[] = [];
  let where = 'tenant_id = $1';
  const add = (name: string, condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    given.push(name);
    where += ` AND ${condition(`$${values.length}`)}`;
  };
  add('direction', (value) => `direction = ${value}`, direction);
  add('result', (value) => `result = ${value}`, result);
  add('from', (value) => `started_at >= ${value}::timestamptz`, from);
  add('to', (value) => `started_at < ${value}::timestamptz`, to);
  if (after !== undefined) {
    values.push(after.startedAt, after.id);
    given.push('after');
    where += ` AND (started_at, id) < ($${values.length - 1}::timestamptz, $${values.length}::uuid)`;
  }
  return {
    name: given.join('_'),
    text: `SELECT ${callColumns} FROM calls WHERE ${where} ORDER BY started_at DESC, id DESC LIMIT $2`,
    values,
  };
}

export async function listCalls(
  tx: Transaction,
  tenantId: string,
  filter: CallFilter,
  after: CallPosition | undefined,
  limit: number,
): Promise<CallRow[]> {
  const { name, text, values } = newestCalls(tenantId, filter, after, limit);
  const { rows } = await tx.query<CallRow>(`list_calls_${name}`, text, values);
  return rows;
}

export async function findCall(tx: Transaction, tenantId: string, id: string): Promise<CallRow | null> {
  const { rows } = await tx.query<CallRow>(
    'find_call',
    `SELECT ${callColumns} FROM calls WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id],
  );
  return rows[0] ?? null;
}

/** Finds stored calls by the identifiers of their carriers. */
export async function findCallsBySid(
  tx: Transaction,
  tenantId: string,
  wanted: readonly { provider: CallProvider; callSid: string }[],
): Promise<CallRow[]> {
  const { rows } = await tx.query<CallRow>(
    'find_calls_by_sid',
    `SELECT ${callColumns} FROM calls WHERE tenant_id = $1 AND (provider, call_sid) IN (SELECT * FROM unnest($2::text[], $3::text[]))`,
    [tenantId, wanted.map(({ provider }) => provider), wanted.map(({ callSid }) => callSid)],
  );
  return rows;
}

/** Counts calls of a provider since a time, up to a limit. */
export async function countCallsSince(
  tx: Transaction,
  tenantId: string,
  provider: CallProvider,
  since: Date,
  limit: number,
): Promise<number> {
  const { rows } = await tx.query<{ calls: number }>(
    'count_calls_since',
    'SELECT count(*)::int AS calls FROM (SELECT FROM calls WHERE tenant_id = $1 AND provider = $2 AND started_at >= $3 LIMIT $4) c',
    [tenantId, provider, since, limit],
  );
  return rows[0]?.calls ?? 0;
}

export interface UsageRow {
  calls: number;
  inbound: number;
  answered_inbound: number;
  answered: number;
  seconds: number;
  calls_today: number;
  seconds_today: number;
}

/** Adds up the sums of the last `days` days, including today (UTC). */
export async function sumDays(tx: Transaction, tenantId: string, days: number): Promise<UsageRow> {
  const { rows } = await tx.query<UsageRow>(
    'sum_call_days',
    `SELECT coalesce(sum(calls), 0)::float8 AS calls, coalesce(sum(inbound), 0)::float8 AS inbound, coalesce(sum(answered_inbound), 0)::float8 AS answered_inbound,
       coalesce(sum(answered), 0)::float8 AS answered, coalesce(sum(seconds), 0)::float8 AS seconds,
       coalesce(sum(calls) FILTER (WHERE day = today), 0)::float8 AS calls_today, coalesce(sum(seconds) FILTER (WHERE day = today), 0)::float8 AS seconds_today
     FROM call_day_sums, (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS t
     WHERE tenant_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - $2::integer AND day <= (now() AT TIME ZONE 'UTC')::date`,
    [tenantId, days],
  );
  return rows[0] as UsageRow;
}
