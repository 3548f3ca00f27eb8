import type { JsonObject } from '../../../shared/json.ts';
import { runs } from '../../engine/schema.ts';
import { index, integer, pgTable, primaryKey, text, unique, uuid } from '../../platform/db/orm.ts';
import { createdAt, instant, jsonb, policies, tenantId, updatedAt } from '../../platform/db/tenancy.ts';

export const contactLists = pgTable(
  'contact_lists',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('contact_lists_tenant').on(table.tenantId, table.id), ...policies()],
);

export const contacts = pgTable(
  'contacts',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    listId: uuid('list_id')
      .notNull()
      .references(() => contactLists.id, { onDelete: 'cascade' }),
    email: text('email').notNull(),
    name: text('name'),
    attributes: jsonb('attributes').$type<JsonObject>().notNull(),
    unsubscribedAt: instant('unsubscribed_at'),
    createdAt: createdAt(),
  },
  (table) => [
    unique('contacts_email').on(table.listId, table.email),
    index('contacts_list').on(table.listId, table.id),
    index('contacts_address').on(table.tenantId, table.email).concurrently(),
    ...policies(),
  ],
);

export const campaigns = pgTable(
  'campaigns',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    name: text('name').notNull(),
    listId: uuid('list_id')
      .notNull()
      .references(() => contactLists.id, { onDelete: 'restrict' }),
    subject: text('subject').notNull(),
    html: text('html'),
    text: text('text'),
    /** Number of mails per status, updated with every change of a mail, so that lists need no count query. */
    mailsSending: integer('mails_sending').notNull().default(0),
    mailsSent: integer('mails_sent').notNull().default(0),
    mailsSimulated: integer('mails_simulated').notNull().default(0),
    mailsFailed: integer('mails_failed').notNull().default(0),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('campaigns_tenant').on(table.tenantId, table.id),
    index('campaigns_list').on(table.listId).concurrently(),
    ...policies(),
  ],
);

/** The test runs that counted a campaign, so that a repeated step of a run does not count it again. */
export const campaignTestRuns = pgTable(
  'campaign_test_runs',
  {
    runId: uuid('run_id')
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    campaignId: uuid('campaign_id')
      .notNull()
      .references(() => campaigns.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    /** The number of mails that the run simulated. */
    mails: integer('mails').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.campaignId] }),
    index('campaign_test_runs_campaign').on(table.campaignId),
    ...policies(),
  ],
);

/**
 * One mail of a campaign to one contact, of live runs only. The row is inserted before the mail is sent, so that a contact never receives
 * the mail twice.
 */
export const campaignMails = pgTable(
  'campaign_mails',
  {
    campaignId: uuid('campaign_id')
      .notNull()
      .references(() => campaigns.id, { onDelete: 'cascade' }),
    contactId: uuid('contact_id')
      .notNull()
      .references(() => contacts.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    /** A mail that stays in `sending` after its process died may or may not have been sent. It is not sent again. */
    status: text('status').$type<'sending' | 'sent' | 'failed'>().notNull(),
    error: text('error'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    primaryKey({ columns: [table.campaignId, table.contactId] }),
    index('campaign_mails_contact').on(table.contactId).concurrently(),
    ...policies(),
  ],
);
