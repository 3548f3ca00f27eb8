import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Database } from '../../platform/db/database.ts';
import { and, eq, isNull, sql } from '../../platform/db/orm.ts';
import { contacts } from './schema.ts';

export interface UnsubscribeLinksDependencies {
  db: Database;
  /** HMAC key of the links. */
  key: Buffer;
  /** Base URL under which mail recipients reach this hub. */
  publicUrl: string;
}

/** Unsubscribe links of campaign mails. A link unsubscribes its contact from all lists of the workspace. */
export class UnsubscribeLinks {
  readonly #deps: UnsubscribeLinksDependencies;

  constructor(dependencies: UnsubscribeLinksDependencies) {
    this.#deps = dependencies;
  }

  /** The unsubscribe link of a contact. */
  of(contactId: string): string {
    return `${this.#deps.publicUrl}/unsubscribe/${this.#tokenOf(contactId)}`;
  }

  /** The contact of a valid token; null for an invalid one. */
  async read(token: string): Promise<{ id: string; email: string; unsubscribed: boolean } | null> {
    const contactId = this.#contactOf(token);
    if (contactId === null) return null;
    const [row] = await this.#deps.db.system(
      (tx) =>
        tx
          .select({ id: contacts.id, email: contacts.email, unsubscribedAt: contacts.unsubscribedAt })
          .from(contacts)
          .where(eq(contacts.id, contactId)),
      { durable: false },
    );
    return row === undefined ? null : { id: row.id, email: row.email, unsubscribed: row.unsubscribedAt !== null };
  }

  /** Unsubscribes the address from every list of its workspace. @returns false for an invalid token. */
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
    return createHmac('sha256', this.#deps.key).update(contactId).digest().subarray(0, 16);
  }
}
