import type { z } from 'zod';
import { ownSessions as resource } from '../../../../shared/contract/core/own-sessions.ts';
import { AppError } from '../../../../shared/errors.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, desc, eq, gt, isNull, lt, sql } from '../../../platform/db/orm.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { recordAudit } from '../audit/index.ts';
import { endPushSubscriptionsOfSession, endPushSubscriptionsOfUser } from './push-subscriptions.ts';
import { passwordResets, sessions, signInCodes } from './schema.ts';

type ListQuery = z.output<typeof resource.listOwnSessions.query>;

/** The sessions of a user, as the user sees and ends them. */
export class OwnSessions {
  readonly #deps: { db: Database; cursors: Cursors };

  constructor(dependencies: { db: Database; cursors: Cursors }) {
    this.#deps = dependencies;
  }

  list({ tenantId, sessionId, user }: SessionIdentity, query: ListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) =>
        tx
          .select()
          .from(sessions)
          .where(and(isOpen(user.id), before === undefined ? undefined : lt(sessions.id, before)))
          .orderBy(desc(sessions.id))
          .limit(limit),
      );
    return readPage(this.#deps.cursors, `sessions:${user.id}`, query, read, ({ id, client, createdAt, expiresAt }) => ({
      id,
      client,
      isCurrent: id === sessionId,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    }));
  }

  /** Ends a session and the notifications of its browser. @throws AppError `not_found`. */
  async end({ tenantId, user }: SessionIdentity, id: string): Promise<{ id: string; deleted: true }> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const isOwn = and(isOpen(user.id), eq(sessions.id, id));
      const found = await tx.select({ id: sessions.id }).from(sessions).where(isOwn).for('update');
      if (found.length === 0) throw new AppError('not_found', `You have no session ${id}.`);
      // Without the session, its subscriptions could not be found.
      await endPushSubscriptionsOfSession(tx, id);
      await tx.delete(sessions).where(eq(sessions.id, id));
    });
    return { id, deleted: true };
  }

  /**
   * Ends all other sessions of the user and the notifications in other browsers, and revokes the links that could start
   * new sessions.
   */
  async endOthers({ tenantId, sessionId, user }: SessionIdentity): Promise<{ ended: number }> {
    const ended = await this.#deps.db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const deleted = await tx
        .delete(sessions)
        .where(and(isOpen(user.id), sql`${sessions.id} <> ${sessionId}`))
        .returning({ id: sessions.id });
      await tx.delete(signInCodes).where(eq(signInCodes.userId, user.id));
      await tx.delete(passwordResets).where(eq(passwordResets.userId, user.id));
      await endPushSubscriptionsOfUser(tx, user.id, sessionId);
      await recordAudit(tx, {
        tenantId,
        actor: `user:${user.id}`,
        action: 'member.sessions_ended',
        targetType: 'user',
        targetId: user.id,
        details: { ended: deleted.length },
      });
      return deleted.length;
    });
    return { ended };
  }
}

const isOpen = (userId: string) =>
  and(eq(sessions.userId, userId), isNull(sessions.revokedAt), gt(sessions.expiresAt, sql`now()`));
