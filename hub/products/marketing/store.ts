import type { Transaction } from '../../platform/db/database.ts';
import { memorySize } from '../../platform/db/memory-size.ts';
import { and, asc, desc, eq, gt, inArray, isNull, lt, sql } from '../../platform/db/orm.ts';
import type { SQL } from '../../platform/db/orm.ts';
import type { RowSize } from '../../platform/large-pages.ts';
import { campaignMails, campaigns, campaignTestRuns, contactLists, contacts } from './schema.ts';

export type ContactRow = typeof contacts.$inferSelect;
export type CampaignRow = typeof campaigns.$inferSelect;

export interface MailCounts {
  sent: number;
  simulated: number;
  failed: number;
  unknown: number;
}

export async function listLists(
  tx: Transaction,
  tenantId: string,
  limit: number,
  before: string | undefined,
  id?: string,
) {
  return tx
    .select({
      id: contactLists.id,
      name: contactLists.name,
      contacts: sql<number>`(select count(*)::int from contacts c where c.list_id = contact_lists.id)`,
      unsubscribed: sql<number>`(select count(*)::int from contacts c where c.list_id = contact_lists.id and c.unsubscribed_at is not null)`,
      createdAt: contactLists.createdAt,
      updatedAt: contactLists.updatedAt,
    })
    .from(contactLists)
    .where(
      and(
        eq(contactLists.tenantId, tenantId),
        id === undefined ? undefined : eq(contactLists.id, id),
        before === undefined ? undefined : lt(contactLists.id, before),
      ),
    )
    .orderBy(desc(contactLists.id))
    .limit(limit);
}

/** Ids of the contacts of a list, newest first, with the memory size of their attributes. */
export async function measureContacts(
  tx: Transaction,
  tenantId: string,
  listId: string,
  limit: number,
  before: string | undefined,
): Promise<RowSize[]> {
  return tx
    .select({ id: contacts.id, bytes: sql<number>`${sql.raw(memorySize('attributes', '{}'))}` })
    .from(contacts)
    .where(
      and(
        eq(contacts.tenantId, tenantId),
        eq(contacts.listId, listId),
        before === undefined ? undefined : lt(contacts.id, before),
      ),
    )
    .orderBy(desc(contacts.id))
    .limit(limit);
}

/** Contacts of a workspace by their ids, in any order. */
export async function readContacts(tx: Transaction, tenantId: string, ids: readonly string[]): Promise<ContactRow[]> {
  return tx
    .select()
    .from(contacts)
    .where(and(eq(contacts.tenantId, tenantId), inArray(contacts.id, [...ids])));
}

/** Ids of campaigns, newest first, with the size of their mails. */
export async function measureCampaigns(
  tx: Transaction,
  tenantId: string,
  limit: number,
  before: string | undefined,
): Promise<RowSize[]> {
  return tx
    .select({
      id: campaigns.id,
      bytes: sql<number>`coalesce(octet_length(${campaigns.html}), 0) + coalesce(octet_length(${campaigns.text}), 0)`,
    })
    .from(campaigns)
    .where(and(eq(campaigns.tenantId, tenantId), before === undefined ? undefined : lt(campaigns.id, before)))
    .orderBy(desc(campaigns.id))
    .limit(limit);
}

/** Campaigns of a workspace by their ids, in any order. */
export async function readCampaigns(tx: Transaction, tenantId: string, ids: readonly string[]): Promise<CampaignRow[]> {
  return tx
    .select()
    .from(campaigns)
    .where(and(eq(campaigns.tenantId, tenantId), inArray(campaigns.id, [...ids])));
}

/** The number of mails of a campaign by outcome. Mails in `sending` count as unknown. */
export function mailCounts(row: CampaignRow): MailCounts {
  return { sent: row.mailsSent, simulated: row.mailsSimulated, failed: row.mailsFailed, unknown: row.mailsSending };
}

/** Ids of the subscribed contacts of a list that have no mail of this campaign, in ascending order. */
export async function listUnmailed(
  tx: Transaction,
  campaign: CampaignRow,
  after: string | undefined,
  limit: number,
): Promise<{ id: string }[]> {
  return tx
    .select({ id: contacts.id })
    .from(contacts)
    .where(
      and(
        eq(contacts.listId, campaign.listId),
        isNull(contacts.unsubscribedAt),
        after === undefined ? undefined : gt(contacts.id, after),
        sql`not exists (select 1 from campaign_mails m where m.campaign_id = ${campaign.id} and m.contact_id = contacts.id)`,
      ),
    )
    .orderBy(asc(contacts.id))
    .limit(limit);
}

/**
 * Claims the mail of a campaign to a contact.
 * @returns the contact; null when another run claimed the mail, or the contact unsubscribed or was deleted.
 */
export async function claimMail(tx: Transaction, campaign: CampaignRow, contactId: string): Promise<ContactRow | null> {
  const [contact] = await tx
    .select()
    .from(contacts)
    .where(and(eq(contacts.id, contactId), isNull(contacts.unsubscribedAt)));
  if (contact === undefined) return null;
  const rows = await tx
    .insert(campaignMails)
    .values({ campaignId: campaign.id, contactId, tenantId: campaign.tenantId, status: 'sending' })
    .onConflictDoNothing()
    .returning({ contactId: campaignMails.contactId });
  if (rows.length > 0) await count(tx, campaign.id, { mailsSending: sql`${campaigns.mailsSending} + 1` });
  return rows.length > 0 ? contact : null;
}

const settledColumns = { sent: 'mailsSent', failed: 'mailsFailed' } as const;

/**
 * Counts a mail to each subscribed contact as simulated, once per run: a worker may die after the count and before it
 * records the step, which is then repeated. @returns the number of mails that the run simulated.
 */
export async function simulateMails(tx: Transaction, campaign: CampaignRow, runId: string): Promise<number> {
  const [counted] = await tx
    .insert(campaignTestRuns)
    .values({
      runId,
      campaignId: campaign.id,
      tenantId: campaign.tenantId,
      mails: sql`(select count(*)::int from contacts where list_id = ${campaign.listId} and unsubscribed_at is null)`,
    })
    .onConflictDoNothing()
    .returning({ mails: campaignTestRuns.mails });
  if (counted !== undefined) {
    await count(tx, campaign.id, { mailsSimulated: sql`${campaigns.mailsSimulated} + ${counted.mails}` });
    return counted.mails;
  }
  const [earlier] = await tx
    .select({ mails: campaignTestRuns.mails })
    .from(campaignTestRuns)
    .where(and(eq(campaignTestRuns.runId, runId), eq(campaignTestRuns.campaignId, campaign.id)));
  return (earlier as { mails: number }).mails;
}

export async function settleMail(
  tx: Transaction,
  campaignId: string,
  contactId: string,
  status: 'sent' | 'failed',
  error: string | null,
): Promise<void> {
  const settled = await tx
    .update(campaignMails)
    .set({ status, error, updatedAt: sql`now()` })
    .where(
      and(
        eq(campaignMails.campaignId, campaignId),
        eq(campaignMails.contactId, contactId),
        eq(campaignMails.status, 'sending'),
      ),
    )
    .returning({ contactId: campaignMails.contactId });
  const column = settledColumns[status];
  if (settled.length > 0)
    await count(tx, campaignId, {
      mailsSending: sql`${campaigns.mailsSending} - 1`,
      [column]: sql`${campaigns[column]} + 1`,
    });
}

/** Releases the claim of a mail that was not sent. */
export async function releaseMail(tx: Transaction, campaignId: string, contactId: string): Promise<void> {
  const released = await tx
    .delete(campaignMails)
    .where(
      and(
        eq(campaignMails.campaignId, campaignId),
        eq(campaignMails.contactId, contactId),
        eq(campaignMails.status, 'sending'),
      ),
    )
    .returning({ contactId: campaignMails.contactId });
  if (released.length > 0) await count(tx, campaignId, { mailsSending: sql`${campaigns.mailsSending} - 1` });
}

type Counters = 'mailsSending' | 'mailsSent' | 'mailsSimulated' | 'mailsFailed';

/** Runs after the change of the mail, so that the row of the campaign is locked for the shortest possible time. */
async function count(tx: Transaction, campaignId: string, change: Partial<Record<Counters, SQL>>): Promise<void> {
  await tx.update(campaigns).set(change).where(eq(campaigns.id, campaignId));
}

/** A row with its timestamps in the format of the API. */
export function dated<Row extends { createdAt: Date; updatedAt: Date }>(row: Row) {
  return { ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
}
