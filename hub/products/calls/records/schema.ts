import type { CallDirection, CallResult, CallProvider } from '../../../../shared/contract/calls/records.ts';
import {
  bigint,
  bigserial,
  boolean,
  date,
  doublePrecision,
  index,
  integer,
  pgTable,
  sql,
  text,
  uniqueIndex,
  uuid,
} from '../../../platform/db/orm.ts';
import { hotTenantId, instant, policies } from '../../../platform/db/tenancy.ts';

/** True if a person answered: the carrier reports it, or the call ended normally after it was answered. */
const answered = `NOT "machine" AND ("outcome" = 'answered' OR ("outcome" = 'completed' AND ("answered_at" IS NOT NULL OR coalesce("reported_secs", 0) > 0)))`;

/**
 * One row per call, merged from all events in any order and number (`merge-calls.ts`).
 * `rank`, `sequence`, `at`, `tie` and the columns beside them come from the latest event. Every other column is the
 * minimum or maximum over all events. A merge therefore does not depend on order or repetition.
 * Triggers write the change of the daily sums (`call_day_sums`) and, for visible changes, a workspace event.
 */
export const calls = pgTable(
  'calls',
  {
    /** UUID whose timestamp is the start of the call as first reported. */
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    provider: text('provider').$type<CallProvider>().notNull(),
    callSid: text('call_sid').notNull(),
    direction: text('direction').$type<CallDirection>(),
    fromId: text('from_id'),
    toId: text('to_id'),
    /** 0 queued, 1 ringing, 2 in progress, 3 ended. */
    rank: integer('rank').notNull(),
    /** -1 if the hub closed the call for silence. */
    sequence: integer('sequence').notNull(),
    at: instant('at').notNull(),
    /** Breaks ties between different events with equal rank, sequence and time. */
    tie: text('tie').notNull(),
    outcome: text('outcome'),
    reason: text('reason'),
    sipCode: integer('sip_code'),
    hangupBy: text('hangup_by').$type<'caller' | 'callee'>(),
    /** Talk time as the carrier measured it. */
    reportedSecs: integer('reported_secs'),
    startedAt: instant('started_at').notNull(),
    answeredAt: instant('answered_at'),
    endedAt: instant('ended_at'),
    /** Whether any event reported that a machine answered. */
    machine: boolean('machine').notNull().default(false),
    mosScore: doublePrecision('mos_score'),
    /** When an event last changed the row. */
    lastEventAt: instant('last_event_at').notNull().defaultNow(),
    result: text('result')
      .$type<CallResult>()
      .generatedAlwaysAs(
        sql.raw(
          `CASE WHEN "rank" < 3 THEN NULL WHEN ${answered} THEN 'answered' WHEN "outcome" IN ('busy', 'failed') THEN "outcome" ` +
            `WHEN "machine" THEN 'voicemail' WHEN "direction" = 'outbound' THEN 'cancelled' ELSE 'missed' END`,
        ),
      ),
    durationSecs: integer('duration_secs')
      .notNull()
      .generatedAlwaysAs(
        sql.raw(
          `CASE WHEN "rank" = 3 AND ${answered} THEN coalesce("reported_secs", greatest(0, round(extract(epoch FROM "ended_at" - "answered_at")))::integer, 0) ELSE 0 END`,
        ),
      ),
  },
  (table) => [
    uniqueIndex('calls_sid').on(table.tenantId, table.provider, table.callSid),
    index('calls_started').on(table.tenantId, table.startedAt, table.id),
    index('calls_direction').on(table.tenantId, table.direction, table.startedAt, table.id),
    index('calls_result')
      .on(table.tenantId, table.result, table.startedAt, table.id)
      .where(sql`${table.result} IS NOT NULL`),
    index('calls_direction_result')
      .on(table.tenantId, table.direction, table.result, table.startedAt, table.id)
      .where(sql`${table.result} IS NOT NULL`),
    index('calls_open')
      .on(table.lastEventAt)
      .where(sql`${table.rank} < 3`),
    ...policies(),
  ],
);

/**
 * Changes of the daily sums of a workspace, by the UTC day on which a call began.
 * The rows of a day always add up to the sums of its calls. A sweep folds them into one row.
 */
export const callDaySums = pgTable(
  'call_day_sums',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: hotTenantId(),
    day: date('day').notNull(),
    calls: bigint('calls', { mode: 'number' }).notNull(),
    /** Inbound calls that ended, and the answered calls among them. */
    inbound: bigint('inbound', { mode: 'number' }).notNull(),
    answeredInbound: bigint('answered_inbound', { mode: 'number' }).notNull(),
    /** Answered calls in both directions. */
    answered: bigint('answered', { mode: 'number' }).notNull(),
    seconds: bigint('seconds', { mode: 'number' }).notNull(),
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    uniqueIndex('call_day_sums_total')
      .on(table.tenantId, table.day)
      .where(sql`folded`),
    index('call_day_sums_tenant').on(table.tenantId, table.day),
    index('call_day_sums_changes')
      .on(table.id)
      .where(sql`not folded`),
    index('call_day_sums_day').on(table.day),
    ...policies(),
  ],
);
