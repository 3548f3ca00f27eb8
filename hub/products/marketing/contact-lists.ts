import type { z } from 'zod';
import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { AppError, notFound } from '../../../shared/errors.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { and, eq, sql } from '../../platform/db/orm.ts';
import { newId } from '../../platform/ids.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { campaigns, contactLists, contacts } from './schema.ts';
import { dated, listContacts, listLists } from './store.ts';

type ListQuery = z.output<typeof resource.listContactLists.query>;
type ContactsBody = z.output<typeof resource.addContacts.body>;

/** Contact lists and who is on them. */
export class ContactLists {
  readonly #deps: { db: Database; cursors: Cursors; limits: WorkspaceLimits };

  constructor(dependencies: { db: Database; cursors: Cursors; limits: WorkspaceLimits }) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) => listLists(tx, tenantId, limit, before));
    return readPage(this.#deps.cursors, `contact-lists:${tenantId}`, query, read, dated);
  }

  /** @throws AppError `workspace_limit_reached`. */
  create(tenantId: string, name: string, actor: string) {
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
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
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
      if (rows.length === 0) throw notFound('contact list', id);
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
      this.#deps.db.read(tenantId, async (tx) => {
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
      if (rows.length === 0) throw notFound('contact', id);
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
}

/** @throws AppError `not_found`. */
export async function assertList(tx: Transaction, tenantId: string, id: string): Promise<void> {
  const [row] = await tx
    .select({ id: contactLists.id })
    .from(contactLists)
    .where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)));
  if (row === undefined) throw notFound('contact list', id);
}
