import { bigserial, boolean, date, index, integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { instant, policies, tenantId } from '../../../platform/db/tenancy.ts';

/**
 * Seconds of calls to phone numbers per workspace on its latest day. Starting a call locks the row, which serializes
 * concurrent starts.
 */
export const sipDialSums = pgTable(
  'sip_dial_sums',
  {
    tenantId: tenantId().primaryKey(),
    /** Day in UTC. */
    day: date('day').notNull(),
    seconds: integer('seconds').notNull(),
  },
  () => policies(),
);

/**
 * Softphone calls in progress. Calls to phone numbers count against the quota and are stored from their INVITE, other
 * calls once answered.
 * A row outlives its softphone and its process, so that the call still ends with its session.
 */
export const sipCalls = pgTable(
  'sip_calls',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    /** Session of the user. It can end before the call. */
    sessionId: uuid('session_id').notNull(),
    isCounted: boolean('is_counted').notNull(),
    callId: text('call_id').notNull(),
    fromTag: text('from_tag').notNull(),
    /** Null until the call is answered. */
    toTag: text('to_tag'),
    answeredAt: instant('answered_at'),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    index('sip_calls_tenant').on(table.tenantId),
    index('sip_calls_expiry').on(table.expiresAt),
    ...policies(),
  ],
);

/**
 * Call reports that the SIP server inserts with the function `report_sip_call`. A report stays until it is merged into
 * the call record.
 * A failed report waits until `due_at`, so that it delays no other report.
 */
export const sipReports = pgTable(
  'sip_reports',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    /** JSON text in the message format of the Kamailio connection. */
    report: text('report').notNull(),
    /** Number of failed attempts. */
    tries: integer('tries').notNull().default(0),
    dueAt: instant('due_at').notNull().defaultNow(),
  },
  (table) => [index('sip_reports_due').on(table.tenantId, table.dueAt), ...policies()],
);

/**
 * Workspaces that left hosted SIP or were removed while the SIP server may have calls of theirs. A trigger on
 * `hosted_sip` inserts the rows.
 * There is no foreign key, because a workspace can be removed before its calls are ended.
 */
export const sipTeardowns = pgTable(
  'sip_teardowns',
  {
    tenantId: uuid('tenant_id').primaryKey(),
    /** SIP user of the workspace: the prefix of the SIP users of its members. */
    username: text('username').notNull(),
    leftAt: instant('left_at').notNull().defaultNow(),
    dueAt: instant('due_at').notNull().defaultNow(),
  },
  (table) => [
    index('sip_teardowns_username').on(table.username),
    index('sip_teardowns_due').on(table.dueAt),
    ...policies(),
  ],
);
