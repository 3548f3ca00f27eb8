import type { CallRecord } from '../../../../shared/contract/calls/records.ts';
import { callRecord, callStates } from '../../../../shared/contract/calls/records.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newestCalls } from './store.ts';
import type { CallFilter, CallPosition } from './store.ts';

export type ExportFormat = 'json' | 'csv';

const iso = (instant: string) => `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** SQL expressions for the fields of a record. They must return the same values as `presentCall`. */
const fieldExpressions: Record<keyof CallRecord, string> = {
  id: 'c.id',
  provider: 'c.provider',
  callSid: 'c.call_sid',
  direction: 'c.direction',
  fromId: 'c.from_id',
  toId: 'c.to_id',
  fromName: 'c.from_name',
  toName: 'c.to_name',
  state: `(ARRAY[${callStates.map((state) => `'${state}'`).join(', ')}])[c.rank + 1]`,
  result: 'c.result',
  reason: 'c.reason',
  startedAt: iso('c.started_at'),
  answeredAt: iso('a.answered'),
  endedAt: iso('e.ended'),
  durationSecs: 'c.duration_secs',
  ringSecs:
    'CASE WHEN coalesce(a.answered, e.ended) IS NOT NULL THEN greatest(0, round(extract(epoch FROM coalesce(a.answered, e.ended) - c.started_at)))::integer END',
  hangupBy: 'c.hangup_by',
  sipCode: 'c.sip_code',
  mosScore: 'c.mos_score',
};
const fields = Object.keys(callRecord.shape) as (keyof CallRecord)[];
/** Text fields set by carriers and users. All other fields hold numbers, times or fixed words. */
const thirdPartyFields = new Set<keyof CallRecord>(['callSid', 'fromId', 'toId', 'fromName', 'toName', 'reason']);

/** Characters that start a spreadsheet formula, with their full-width forms, for use in a bracket expression. */
const formulaCharacters = '-=+@\uFF0D\uFF1D\uFF0B\uFF20';

/**
 * A CSV cell (RFC 4180), quoted where needed. An apostrophe before a leading formula sign, or before an existing
 * apostrophe, prevents formula injection.
 * Phone numbers and plain numbers stay unchanged. Some locales split cells at semicolons and line breaks, so text after
 * those characters gets the same protection.
 */
const cell = (text: string) => {
  const safe = `CASE WHEN ${text} ~ '^[${formulaCharacters}\\t\\r'']' AND ${text} !~ '^([+]?[0-9]{1,15}|-?[0-9]+([.][0-9]+)?)$' THEN '''' || ${text} ELSE ${text} END`;
  const within = `regexp_replace(${safe}, '(?<=[;\\t\\r\\n])(?=[''"]*[${formulaCharacters}\\t\\r])', '''', 'g')`;
  return `CASE WHEN ${text} ~ '[",;\\t\\r\\n]' THEN '"' || replace(${within}, '"', '""') || '"' ELSE ${safe} END`;
};

const lineExpressions: Record<ExportFormat, string> = {
  json: `(SELECT row_to_json(r)::text FROM (SELECT ${fields.map((name) => `${fieldExpressions[name]} AS "${name}"`).join(', ')}) r)`,
  csv: `concat(${fields.map((name) => (thirdPartyFields.has(name) ? cell(fieldExpressions[name]) : fieldExpressions[name])).join(", ',', ")}, E'\\r\\n')`,
};
const separators: Record<ExportFormat, string> = { json: `E',\\n'`, csv: `''` };

/** Header row of the CSV: the names of the record fields. */
export const csvHeader = `${fields.join(',')}\r\n`;

/** A page of an export and the position of its last call. */
export interface CallLines {
  text: string;
  count: number;
  last: CallPosition;
}

interface LinesRow {
  text: string | null;
  count: number;
  last_started_at: Date;
  last_id: string;
}

/**
 * Returns a page of calls as one text that the database formats, newest first. Returns null when no call is left.
 * Formatting a million calls in the hub would double its memory use.
 */
export async function listCallLines(
  tx: Transaction,
  tenantId: string,
  format: ExportFormat,
  filter: CallFilter,
  after: CallPosition | undefined,
  limit: number,
): Promise<CallLines | null> {
  const { name, text, values } = newestCalls(tenantId, filter, after, limit);
  const order = 'ORDER BY l.started_at DESC, l.id DESC';
  const { rows } = await tx.query<LinesRow>(
    `list_call_lines_${format}_${name}`,
    `SELECT string_agg(l.line, ${separators[format]} ${order}) AS text, count(*)::integer AS count,
       (array_agg(l.started_at ${order}))[count(*)] AS last_started_at, (array_agg(l.id ${order}))[count(*)] AS last_id
     FROM (SELECT c.id, c.started_at, ${lineExpressions[format]} AS line FROM (${text}) c
       CROSS JOIN LATERAL (SELECT CASE WHEN c.rank = 3 THEN coalesce(c.ended_at, c.last_event_at) END AS ended) e
       CROSS JOIN LATERAL (SELECT coalesce(c.answered_at, CASE WHEN c.result = 'answered' THEN e.ended - c.duration_secs * interval '1 second' END) AS answered) a) l`,
    values,
  );
  const [row] = rows;
  // Empty the result early: otherwise V8 promotes the rows to the old generation and memory grows during long exports.
  rows.length = 0;
  return row === undefined || row.text === null
    ? null
    : { text: row.text, count: row.count, last: { startedAt: row.last_started_at, id: row.last_id } };
}
