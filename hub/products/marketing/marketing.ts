import { createHmac, timingSafeEqual } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonValue } from '../../../shared/json.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { throughOutages } from '../../platform/db/outage.ts';
import { newId } from '../../platform/ids.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { Mailer } from '../../platform/mail/mail.ts';
import type { EmailContext, EmailOutcome } from '../automations/email/index.ts';
import { recordMessage } from '../automations/logs/index.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { campaigns, contactLists, contacts } from './schema.ts';
import {
  claimMail,
  listCampaigns,
  listContacts,
  listLists,
  listUnmailed,
  mailCounts,
  releaseMail,
  settleMail,
} from './store.ts';
import type { CampaignRow, ContactRow } from './store.ts';

type ListQuery = z.output<typeof resource.listContactLists.query>;
type ContactsBody = z.output<typeof resource.addContacts.body>;
type CreateBody = z.output<typeof resource.createCampaign.body>;
type UpdateBody = z.output<typeof resource.updateCampaign.body>;

export interface MarketingDependencies {
  db: Database;
  cursors: Cursors;
  mailer: Mailer | null;
  limits: WorkspaceLimits;
  /** Signs unsubscribe links. */
  unsubscribeKey: Buffer;
  /** Where readers reach this hub. */
  publicUrl: string;
}

const batchSize = 100;

/** The most characters that one part of a mail may have once a contact's values are filled in. */
const maxPersonalisedLength = 2 * 1024 * 1024;

/**
 * {{name}}, {{email}} and {{attributes.<name>}} of a contact; what it lacks is nothing.
 * @throws MailError when the text would be too long, before that much is made.
 */
export function personalise(
  text: string,
  contact: Pick<ContactRow, 'name' | 'email' | 'attributes'>,
  escape: (value: string) => string,
): string {
  let room = maxPersonalisedLength - text.length;
  const values = new Map<string, string>();
  return text.replaceAll(
    /\{\{\s*(name|email|attributes\.([A-Za-z0-9_-]+))\s*\}\}/g,
    (_whole, reference: string, attribute: string | undefined) => {
      let filled = values.get(reference);
      if (filled === undefined) {
        const value: JsonValue | undefined =
          attribute === undefined
            ? contact[reference as 'name' | 'email']
            : Object.hasOwn(contact.attributes, attribute)
              ? contact.attributes[attribute]
              : '';
        filled = escape(
          value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value),
        );
        values.set(reference, filled);
      }
      room -= filled.length;
      if (room < 0)
        throw new MailError(
          `with what the list knows of this contact the mail is longer than ${maxPersonalisedLength} characters`,
          { retryable: false, inDoubt: false },
        );
      return filled;
    },
  );
}

const escapeHtml = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Contact lists, campaigns, and their mail: one mail a contact, whatever is retried. */
export class Marketing {
  readonly #deps: MarketingDependencies;

  constructor(dependencies: MarketingDependencies) {
    this.#deps = dependencies;
  }

  listLists(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) => listLists(tx, tenantId, limit, before));
    return readPage(this.#deps.cursors, `contact-lists:${tenantId}`, query, read, dated);
  }

  /** @throws AppError `workspace_limit_reached`. */
  createList(tenantId: string, name: string, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const id = newId();
      await tx.insert(contactLists).values({ id, tenantId, name });
      await this.#deps.limits.assertWithin(tx, tenantId, 'contactList');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'contact-list.created',
        targetType: 'contact-list',
        targetId: id,
        details: { name },
      });
      const [row] = await listLists(tx, tenantId, 1, undefined, id);
      return dated(row as NonNullable<typeof row>);
    });
  }

  /** @throws AppError `not_found`, or `conflict` while a campaign uses it. */
  async deleteList(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const [user] = await tx
        .select({ id: campaigns.id })
        .from(campaigns)
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.listId, id)))
        .limit(1);
      if (user !== undefined)
        throw new AppError('conflict', `The campaign ${user.id} uses this list; delete that first.`);
      const rows = await tx
        .delete(contactLists)
        .where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)))
        .returning({ id: contactLists.id });
      if (rows.length === 0) throw listNotFound(id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'contact-list.deleted',
        targetType: 'contact-list',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }

  /** @throws AppError `not_found`. */
  listContacts(tenantId: string, listId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, async (tx) => {
        await assertList(tx, tenantId, listId);
        return listContacts(tx, tenantId, listId, limit, before);
      });
    return readPage(
      this.#deps.cursors,
      `contacts:${listId}`,
      query,
      read,
      ({ id, email, name, attributes, unsubscribedAt, createdAt }) => ({
        id,
        email,
        name,
        attributes,
        unsubscribedAt: unsubscribedAt?.toISOString() ?? null,
        createdAt: createdAt.toISOString(),
      }),
    );
  }

  /** Adds contacts, or brings those up to date that the list has; one that unsubscribed stays so. @throws AppError `not_found`, `workspace_limit_reached`. */
  addContacts(
    tenantId: string,
    listId: string,
    body: ContactsBody,
    actor: string,
  ): Promise<{ added: number; updated: number }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await assertList(tx, tenantId, listId);
      // The same address twice in one request is one contact; the later one wins.
      const byEmail = new Map(body.contacts.map((contact) => [contact.email, contact]));
      const rows = await tx
        .insert(contacts)
        .values(
          [...byEmail.values()].map(({ email, name, attributes }) => ({
            id: newId(),
            tenantId,
            listId,
            email,
            name: name ?? null,
            attributes: attributes ?? {},
          })),
        )
        .onConflictDoUpdate({
          target: [contacts.listId, contacts.email],
          set: {
            name: sql`coalesce(excluded.name, contacts.name)`,
            attributes: sql`contacts.attributes || excluded.attributes`,
          },
        })
        .returning({ isNew: sql<boolean>`xmax = 0` });
      const added = rows.filter((row) => row.isNew).length;
      if (added > 0) await this.#deps.limits.assertWithin(tx, tenantId, 'contact');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'contacts.added',
        targetType: 'contact-list',
        targetId: listId,
        details: { added, updated: rows.length - added },
      });
      return { added, updated: rows.length - added };
    });
  }

  /** @throws AppError `not_found`. */
  async deleteContact(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(contacts)
        .where(and(eq(contacts.tenantId, tenantId), eq(contacts.id, id)))
        .returning({ id: contacts.id });
      if (rows.length === 0) throw new AppError('not_found', `There is no contact ${id} in this workspace.`);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'contact.deleted',
        targetType: 'contact',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }

  listCampaigns(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.workspace(tenantId, (tx) => listCampaigns(tx, tenantId, limit, before));
    return readPage(this.#deps.cursors, `campaigns:${tenantId}`, query, read, ({ row }) => presentCampaign(row));
  }

  /** @throws AppError `not_found` for a list that there is not, `workspace_limit_reached`. */
  createCampaign(tenantId: string, body: CreateBody, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await assertList(tx, tenantId, body.listId);
      const [row] = await tx
        .insert(campaigns)
        .values({ id: newId(), tenantId, ...body })
        .returning();
      const created = row as CampaignRow;
      await this.#deps.limits.assertWithin(tx, tenantId, 'campaign');
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.created',
        targetType: 'campaign',
        targetId: created.id,
        details: { name: created.name },
      });
      return presentCampaign(created);
    });
  }

  /** @throws AppError `not_found`, `validation_failed` when neither html nor text is left. */
  updateCampaign(tenantId: string, id: string, body: UpdateBody, actor: string) {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      if (body.listId !== undefined) await assertList(tx, tenantId, body.listId);
      const [row] = await tx
        .update(campaigns)
        .set({ ...body, updatedAt: sql`now()` })
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.id, id)))
        .returning();
      if (row === undefined) throw campaignNotFound(id);
      if (row.html === null && row.text === null)
        throw new AppError('validation_failed', 'body.text is required where there is no html.', {
          details: [{ path: 'body.text', message: 'give html or text' }],
        });
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.updated',
        targetType: 'campaign',
        targetId: id,
        details: { changed: Object.keys(body) },
      });
      return presentCampaign(row);
    });
  }

  /** @throws AppError `not_found`. */
  async deleteCampaign(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const rows = await tx
        .delete(campaigns)
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.id, id)))
        .returning({ id: campaigns.id });
      if (rows.length === 0) throw campaignNotFound(id);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'campaign.deleted',
        targetType: 'campaign',
        targetId: id,
        details: {},
      });
    });
    return { id, deleted: true };
  }

  /**
   * Mails a campaign to every contact of its list that has not had it. Each mail is claimed before it goes out, so that neither a
   * retry nor a crash sends a second one; what a crash cut off in the middle is not sent again.
   * @throws AppError `not_found`, `not_available` without an SMTP server, `skill_failed` when that stopped taking mail.
   */
  async send(campaignId: string, context: EmailContext): Promise<EmailOutcome> {
    const { db, mailer } = this.#deps;
    const { tenantId, runId, stepIndex, environment } = context;
    const [found] = await db.workspace(tenantId, (tx) => listCampaigns(tx, tenantId, 1, undefined, campaignId));
    if (found === undefined) throw campaignNotFound(campaignId);
    const campaign = found.row;
    if (mailer === null && environment === 'live')
      throw new AppError('not_available', 'This hub sends no mail: its operator sets SMTP_URL and MAIL_FROM.');
    const counts = { sent: 0, simulated: 0, failed: 0, unknown: 0 };
    let after: string | undefined;
    for (;;) {
      const batch = await db.workspace(tenantId, (tx) => listUnmailed(tx, campaign, after, batchSize));
      for (const contact of batch) {
        context.signal.throwIfAborted();
        after = contact.id;
        if (!(await db.workspace(tenantId, (tx) => claimMail(tx, campaign, contact.id)))) continue;
        const status = await this.#mailOne(campaign, contact, context);
        counts[status] += 1;
      }
      if (batch.length < batchSize) break;
    }
    const [now] = await db.workspace(tenantId, (tx) => listCampaigns(tx, tenantId, 1, undefined, campaignId));
    const output = { campaignId, ...counts, total: { ...(now as NonNullable<typeof now>).mails } };
    return {
      output,
      outputText: `${counts.sent + counts.simulated} mails of ${campaign.name}`,
      persist: (tx) =>
        recordMessage(tx, {
          tenantId,
          runId,
          stepIndex,
          channel: 'campaign',
          recipient: campaign.name,
          status: environment === 'test' ? 'simulated' : 'delivered',
          summary: output,
        }),
    };
  }

  /** Whether a link of a mail is right; the contact that it is for. */
  async readUnsubscribe(token: string): Promise<{ id: string; email: string; unsubscribed: boolean } | null> {
    const contactId = this.#contactOf(token);
    if (contactId === null) return null;
    const [row] = await this.#deps.db.system((tx) => tx.select().from(contacts).where(eq(contacts.id, contactId)), {
      durable: false,
    });
    return row === undefined ? null : { id: row.id, email: row.email, unsubscribed: row.unsubscribedAt !== null };
  }

  /** Takes the address out of every list of its workspace; false when the link is not right. */
  async unsubscribe(token: string): Promise<boolean> {
    const contactId = this.#contactOf(token);
    if (contactId === null) return false;
    const [row] = await this.#deps.db.system(
      (tx) =>
        tx
          .select({ tenantId: contacts.tenantId, email: contacts.email })
          .from(contacts)
          .where(eq(contacts.id, contactId)),
      { durable: false },
    );
    if (row === undefined) return false;
    await this.#deps.db.workspace(row.tenantId, (tx) =>
      tx
        .update(contacts)
        .set({ unsubscribedAt: sql`now()` })
        .where(
          and(eq(contacts.tenantId, row.tenantId), eq(contacts.email, row.email), isNull(contacts.unsubscribedAt)),
        ),
    );
    return true;
  }

  async #mailOne(
    campaign: CampaignRow,
    contact: ContactRow,
    { tenantId, environment, signal }: EmailContext,
  ): Promise<'sent' | 'simulated' | 'failed' | 'unknown'> {
    const { db, mailer } = this.#deps;
    // What became of a mail is known only here: an outage must not make it one that nobody knows of.
    const settle = (status: 'sent' | 'simulated' | 'failed', error: string | null) =>
      throughOutages(signal, () =>
        db.workspace(tenantId, (tx) => settleMail(tx, campaign.id, contact.id, status, error)),
      );
    if (environment === 'test' || mailer === null) {
      await settle('simulated', null);
      return 'simulated';
    }
    const link = `${this.#deps.publicUrl}/unsubscribe/${this.#tokenOf(contact.id)}`;
    const footer = `To get no more of these mails: ${link}`;
    const plain = (value: string) => value;
    try {
      await mailer.send(
        {
          to: [contact.email],
          subject: personalise(campaign.subject, contact, plain).replaceAll(/[\r\n]+/g, ' '),
          ...(campaign.text === null
            ? {}
            : { text: `${personalise(campaign.text, contact, plain)}\n\n-- \n${footer}\n` }),
          ...(campaign.html === null
            ? {}
            : {
                html: `${personalise(campaign.html, contact, escapeHtml)}<p><small><a href="${escapeHtml(link)}">Unsubscribe</a></small></p>`,
              }),
          headers: { 'List-Unsubscribe': `<${link}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
          messageId: `<${campaign.id}.${contact.id}@outrigger>`,
        },
        signal,
      );
      await settle('sent', null);
      return 'sent';
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      // The mail stays claimed: it may have gone out, and a second one must not.
      if (error.inDoubt) return 'unknown';
      if (!error.retryable) {
        await settle('failed', error.message.slice(0, 500));
        return 'failed';
      }
      // The server said that it did not take this one, so it may be sent by the next try.
      await throughOutages(signal, () => db.workspace(tenantId, (tx) => releaseMail(tx, campaign.id, contact.id)));
      throw new AppError('skill_failed', error.message, { cause: error });
    }
  }

  #tokenOf(contactId: string): string {
    return `${Buffer.from(contactId.replaceAll('-', ''), 'hex').toString('base64url')}.${this.#signatureOf(contactId).toString('base64url')}`;
  }

  #contactOf(token: string): string | null {
    const [id = '', signature = ''] = token.split('.');
    const hex = Buffer.from(id, 'base64url').toString('hex');
    if (hex.length !== 32) return null;
    const contactId = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    const presented = Buffer.from(signature, 'base64url');
    const expected = this.#signatureOf(contactId);
    return presented.length === expected.length && timingSafeEqual(presented, expected) ? contactId : null;
  }

  #signatureOf(contactId: string): Buffer {
    return createHmac('sha256', this.#deps.unsubscribeKey).update(contactId).digest().subarray(0, 16);
  }
}

function dated<Row extends { createdAt: Date; updatedAt: Date }>(row: Row) {
  return { ...row, createdAt: row.createdAt.toISOString(), updatedAt: row.updatedAt.toISOString() };
}

function presentCampaign(row: CampaignRow) {
  const {
    tenantId: _own,
    mailsSending: _sending,
    mailsSent: _sent,
    mailsSimulated: _simulated,
    mailsFailed: _failed,
    ...rest
  } = row;
  return { ...dated(rest), mails: mailCounts(row) };
}

async function assertList(tx: Transaction, tenantId: string, id: string): Promise<void> {
  const [row] = await tx
    .select({ id: contactLists.id })
    .from(contactLists)
    .where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)));
  if (row === undefined) throw listNotFound(id);
}

function listNotFound(id: string): AppError {
  return new AppError('not_found', `There is no contact list ${id} in this workspace.`);
}

function campaignNotFound(id: string): AppError {
  return new AppError('not_found', `There is no campaign ${id} in this workspace.`);
}
