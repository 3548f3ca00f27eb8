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

/** Answered by a person: the carrier says so, or ended it in the ordinary way after it was answered. */
const answered = `NOT "machine" AND ("outcome" = 'answered' OR ("outcome" = 'completed' AND ("answered_at" IS NOT NULL OR coalesce("reported_secs", 0) > 0)))`;

/**
 * Calls, each in one row, merged from all that was told of it in whatever order and number. `rank`, `sequence`, `at` and `tie` are of the
 * event that says how it stands, with what stands beside them; everything else is the least or greatest of what any event said. A merge is
 * thus the same whichever comes first, and nothing changes when something comes again (`merge-calls.ts`). Triggers write what changes of
 * the sums of its day (`call_day_sums`) and, where it shows, an event of the workspace.
 */
export const calls = pgTable(
  'calls',
  {
    /** Made for the time at which it began, as far as that was known at first. */
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    provider: text('provider').$type<CallProvider>().notNull(),
    callSid: text('call_sid').notNull(),
    direction: text('direction').$type<CallDirection>(),
    fromId: text('from_id'),
    toId: text('to_id'),
    /** 0 queued, 1 ringing, 2 in progress, 3 ended. */
    rank: integer('rank').notNull(),
    /** -1 where it was closed for being silent. */
    sequence: integer('sequence').notNull(),
    at: instant('at').notNull(),
    /** Decides between events that are the same in all this and say different things. */
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
    /** Whether it was ever said that a machine answered. */
    machine: boolean('machine').notNull().default(false),
    mosScore: doublePrecision('mos_score'),
    /** When something new was last heard of it. */
    heardAt: instant('heard_at').notNull().defaultNow(),
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
      .on(table.heardAt)
      .where(sql`${table.rank} < 3`),
    ...policies(),
  ],
);

/**
 * What changed of the sums of each day of a workspace, by the day in UTC on which a call began. Added up, the rows of a day are what its
 * calls come to, at any instant; a sweep folds them into one.
 */
export const callDaySums = pgTable(
  'call_day_sums',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: hotTenantId(),
    day: date('day').notNull(),
    calls: bigint('calls', { mode: 'number' }).notNull(),
    /** Inbound ones that ended, and those of them that were answered. */
    inbound: bigint('inbound', { mode: 'number' }).notNull(),
    answeredInbound: bigint('answered_inbound', { mode: 'number' }).notNull(),
    /** Of both directions. */
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
