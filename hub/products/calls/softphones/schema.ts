import { bigserial, boolean, date, index, integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { instant, policies, tenantId } from '../../../platform/db/tenancy.ts';

/** What a workspace spoke with numbers today; whoever begins another call holds the row, so that of several at once each knows of the others. */
export const sipDialSums = pgTable(
  'sip_dial_sums',
  {
    tenantId: tenantId().primaryKey(),
    /** In UTC. */
    day: date('day').notNull(),
    seconds: integer('seconds').notNull(),
  },
  () => policies(),
);

/**
 * Calls of softphones while they last: those to numbers, which are counted, from their INVITE, all others once they were answered. A call stays when its
 * softphone or its process is gone, so that it is ended with its session all the same.
 */
export const sipCalls = pgTable(
  'sip_calls',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    /** Of somebody who is signed in; the session may be gone before the call was ended. */
    sessionId: uuid('session_id').notNull(),
    isCounted: boolean('is_counted').notNull(),
    callId: text('call_id').notNull(),
    fromTag: text('from_tag').notNull(),
    /** Null until it was answered. */
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
 * What the SIP server says of calls of a workspace, by the function `report_sip_call`, until it stands in their records. What could not be written
 * waits until it is due, so that nothing else waits for it.
 */
export const sipReports = pgTable(
  'sip_reports',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    /** As JSON, as a connection to Kamailio takes it. */
    report: text('report').notNull(),
    /** How often it could not be written. */
    tries: integer('tries').notNull().default(0),
    dueAt: instant('due_at').notNull().defaultNow(),
  },
  (table) => [index('sip_reports_due').on(table.tenantId, table.dueAt), ...policies()],
);

/**
 * Workspaces that left hosted SIP, or are gone, while the SIP server may have calls of theirs; a trigger of `hosted_sip` writes them. They refer to no
 * workspace, since theirs may be removed before its calls are ended.
 */
export const sipTeardowns = pgTable(
  'sip_farewells',
  {
    tenantId: uuid('tenant_id').primaryKey(),
    /** With which the names of its people begin. */
    username: text('username').notNull(),
    leftAt: instant('left_at').notNull().defaultNow(),
    dueAt: instant('due_at').notNull().defaultNow(),
  },
  (table) => [
    index('sip_farewells_username').on(table.username),
    index('sip_farewells_due').on(table.dueAt),
    ...policies(),
  ],
);
