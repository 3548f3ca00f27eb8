import type { z } from 'zod';
import { maxAttributes, maxAttributesBytes } from '../../../shared/contract/chat/shapes.ts';
import { marketing as resource } from '../../../shared/contract/marketing/marketing.ts';
import { AppError, invalidBody, notFound } from '../../../shared/errors.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { and, eq, sql } from '../../platform/db/orm.ts';
import { newId } from '../../platform/ids.ts';
import { readLargePage } from '../../platform/large-pages.ts';
import type { MemoryBudget } from '../../platform/process/memory-budget.ts';
import { recordAudit } from '../core/audit/index.ts';
import type { WorkspaceLimits } from '../core/limits/index.ts';
import { campaigns, contactLists, contacts } from './schema.ts';
import { dated, listLists, measureContacts, readContacts } from './store.ts';
import type { ContactRow } from './store.ts';

type ListQuery = z.output<typeof resource.listContactLists.query>;
type ContactsBody = z.output<typeof resource.addContacts.body>;

export interface ContactListsDependencies {
  db: Database;
  cursors: Cursors;
  /** Memory budget for responses with large contact attributes. */
  answerMemory: MemoryBudget;
  limits: WorkspaceLimits;
}

/** Manages contact lists and their contacts. */
export class ContactLists {
  readonly #deps: ContactListsDependencies;

  constructor(dependencies: ContactListsDependencies) {
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

  /** @throws AppError `not_found`, or `conflict` while a campaign uses the list. */
  async delete(tenantId: string, id: string, actor: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      await lockList(tx, tenantId, id, 'update');
      const [user] = await tx
        .select({ id: campaigns.id })
        .from(campaigns)
        .where(and(eq(campaigns.tenantId, tenantId), eq(campaigns.listId, id)))
        .limit(1);
      if (user !== undefined)
        throw new AppError('conflict', `The campaign ${user.id} uses this list. Delete the campaign first.`);
      await tx.delete(contactLists).where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)));
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
    const { db } = this.#deps;
    return readLargePage(this.#deps, tenantId, `contacts:${listId}`, query, {
      measure: (limit, before) =>
        db.read(tenantId, async (tx) => {
          await assertList(tx, tenantId, listId);
          return measureContacts(tx, tenantId, listId, limit, before);
        }),
      read: (ids) => db.read(tenantId, (tx) => readContacts(tx, tenantId, ids)),
      present: presentContact,
    });
  }

  /**
   * Adds contacts and updates existing ones. A contact that unsubscribed stays unsubscribed.
   * @throws AppError `not_found`, `workspace_limit_reached`; `validation_failed` for a contact whose merged attributes
   * exceed the limit.
   */
  addContacts(
    tenantId: string,
    listId: string,
    body: ContactsBody,
    actor: string,
  ): Promise<{ added: number; updated: number }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      await lockList(tx, tenantId, listId, 'key share');
      // The last contact with an address replaces earlier ones of the same request.
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
        .returning({
          isNew: sql<boolean>`xmax = 0`,
          email: contacts.email,
          keys: sql<number>`(select count(*)::int from jsonb_object_keys(contacts.attributes))`,
          bytes: sql<number>`octet_length(contacts.attributes::text)`,
        });
      for (const row of rows) assertAttributesFit(body, row);
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

function presentContact({ id, email, name, attributes, unsubscribedAt, createdAt }: ContactRow) {
  return {
    id,
    email,
    name,
    attributes,
    unsubscribedAt: unsubscribedAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

/**
 * Checks the attributes of a contact after the new attributes were merged into the stored ones. A contact without
 * attributes in the request is not checked, because earlier versions of the hub had no limit. @throws AppError
 * `validation_failed`.
 */
function assertAttributesFit(body: ContactsBody, row: { email: string; keys: number; bytes: number }): void {
  if (row.keys <= maxAttributes && row.bytes <= maxAttributesBytes) return;
  const index = body.contacts.findLastIndex(({ email }) => email === row.email);
  if (body.contacts[index]?.attributes === undefined) return;
  throw invalidBody(
    `contacts[${index}].attributes`,
    `would have ${row.keys} keys in ${row.bytes} bytes of JSON, together with those that the contact already has; the limit is ${maxAttributes} keys in ${maxAttributesBytes} bytes`,
  );
}

/**
 * Locks a list: with `key share` before a row refers to it, with `update` before it is deleted.
 * @throws AppError `not_found`.
 */
export async function lockList(
  tx: Transaction,
  tenantId: string,
  id: string,
  strength: 'key share' | 'update',
): Promise<void> {
  const [row] = await tx
    .select({ id: contactLists.id })
    .from(contactLists)
    .where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)))
    .for(strength);
  if (row === undefined) throw notFound('contact list', id);
}

/** @throws AppError `not_found`. */
async function assertList(tx: Transaction, tenantId: string, id: string): Promise<void> {
  const [row] = await tx
    .select({ id: contactLists.id })
    .from(contactLists)
    .where(and(eq(contactLists.tenantId, tenantId), eq(contactLists.id, id)));
  if (row === undefined) throw notFound('contact list', id);
}
