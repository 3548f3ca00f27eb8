import type { CallRecord } from '../../../../shared/contract/calls/records.ts';
import { callRecord, callStates } from '../../../../shared/contract/calls/records.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newestCalls } from './store.ts';
import type { CallFilter, Place } from './store.ts';

export type ExportFormat = 'json' | 'csv';

const iso = (instant: string) => `to_char(${instant} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The fields of a record out of what is read of a call, as `presentCall` makes them. */
const shown: Record<keyof CallRecord, string> = {
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
/** Those that somebody else wrote; all others are numbers, times and words of ours. */
const foreign = new Set<keyof CallRecord>(['callSid', 'fromId', 'toId', 'fromName', 'toName', 'reason']);

/** Signs that begin a formula, with their full-width forms, which some spreadsheets read alike; for a bracket expression. */
const formulaSigns = '-=+@\uFF0D\uFF1D\uFF0B\uFF20';

/**
 * A cell of RFC 4180: defused where a spreadsheet would calculate it, and where it begins like one that was; quoted where it has to be. Phone
 * numbers and plain numbers are left as they are, byte for byte. Where a comma is in numbers a spreadsheet splits at semicolons, and ends a record in
 * the middle of a cell: what follows there is defused, too, and behind quotes that mean nothing there.
 */
const cell = (text: string) => {
  const safe = `CASE WHEN ${text} ~ '^[${formulaSigns}\\t\\r'']' AND ${text} !~ '^([+]?[0-9]{1,15}|-?[0-9]+([.][0-9]+)?)$' THEN '''' || ${text} ELSE ${text} END`;
  const within = `regexp_replace(${safe}, '(?<=[;\\t\\r\\n])(?=[''"]*[${formulaSigns}\\t\\r])', '''', 'g')`;
  return `CASE WHEN ${text} ~ '[",;\\t\\r\\n]' THEN '"' || replace(${within}, '"', '""') || '"' ELSE ${safe} END`;
};

const lines: Record<ExportFormat, string> = {
  json: `(SELECT row_to_json(r)::text FROM (SELECT ${fields.map((name) => `${shown[name]} AS "${name}"`).join(', ')}) r)`,
  csv: `concat(${fields.map((name) => (foreign.has(name) ? cell(shown[name]) : shown[name])).join(", ',', ")}, E'\\r\\n')`,
};
const between: Record<ExportFormat, string> = { json: `E',\\n'`, csv: `''` };

/** The head of a CSV, which names the fields of a record. */
export const csvHead = `${fields.join(',')}\r\n`;

/** Calls as they stand in an export, and the last of them; null where there are none. */
export interface CallLines {
  text: string;
  count: number;
  last: Place;
}

interface LinesRow {
  text: string | null;
  count: number;
  last_started_at: Date;
  last_id: string;
}

/**
 * Calls that began last, first, and after a place, as one text that the database makes: out of a million calls the hub itself would make so much
 * garbage that its memory doubled.
 */
export async function listCallLines(
  tx: Transaction,
  tenantId: string,
  format: ExportFormat,
  filter: CallFilter,
  after: Place | undefined,
  limit: number,
): Promise<CallLines | null> {
  const { name, text, values } = newestCalls(tenantId, filter, after, limit);
  const order = 'ORDER BY l.started_at DESC, l.id DESC';
  const { rows } = await tx.query<LinesRow>(
    `list_call_lines_${format}_${name}`,
    `SELECT string_agg(l.line, ${between[format]} ${order}) AS text, count(*)::integer AS count,
       (array_agg(l.started_at ${order}))[count(*)] AS last_started_at, (array_agg(l.id ${order}))[count(*)] AS last_id
     FROM (SELECT c.id, c.started_at, ${lines[format]} AS line FROM (${text}) c
       CROSS JOIN LATERAL (SELECT CASE WHEN c.rank = 3 THEN coalesce(c.ended_at, c.heard_at) END AS ended) e
       CROSS JOIN LATERAL (SELECT coalesce(c.answered_at, CASE WHEN c.result = 'answered' THEN e.ended - c.duration_secs * interval '1 second' END) AS answered) a) l`,
    values,
  );
  const [row] = rows;
  // What a query answered is found by V8 to be reachable for two more collections of young memory, and moved to the old one, where a million calls would pile up.
  rows.length = 0;
  return row === undefined || row.text === null
    ? null
    : { text: row.text, count: row.count, last: { startedAt: row.last_started_at, id: row.last_id } };
}
