import { hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, eq, sql } from '../../../platform/db/orm.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { recordAudit } from '../audit/index.ts';
import { endPushSubscriptionsOfUser } from './push-subscriptions.ts';
import { passwordResets, sessions, signInCodes, users } from './schema.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import { findUserByEmail } from './store.ts';

/** A hash that matches no password. Verifying against it takes as long as against a real hash. */
export const noPassword =
  '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

/** Password changes by signed-in users. */
export class Passwords {
  readonly #deps: { db: Database; limits: SignInLimits };

  constructor(dependencies: { db: Database; limits: SignInLimits }) {
    this.#deps = dependencies;
  }

  /**
   * Ends the other sessions, the notifications in other browsers, the sign-in links and the password links of the user.
   * @throws AppError `invalid_credentials`, `rate_limited`.
   */
  async change(
    { tenantId, sessionId, user: { id, email } }: SessionIdentity,
    { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
    address: string,
  ): Promise<{ changed: true }> {
    const { db, limits } = this.#deps;
    await limits.assertMayTry(email, address);
    const user = await db.system((tx) => findUserByEmail(tx, email));
    const correct = await verifyPassword(user?.passwordHash || noPassword, currentPassword).catch(() => false);
    if (user === null || !correct) throw new AppError('invalid_credentials', 'The current password is wrong.');
    const passwordHash = await hashPassword(newPassword);
    await db.workspace(tenantId, async (tx) => {
      publishAccessChange(tx, tenantId);
      const changed = await tx
        .update(users)
        .set({ passwordHash })
        .where(and(eq(users.id, id), eq(users.passwordHash, user.passwordHash)))
        .returning({ id: users.id });
      if (changed.length === 0) throw new AppError('invalid_credentials', 'The current password is wrong.');
      await tx.delete(sessions).where(and(eq(sessions.userId, id), sql`${sessions.id} <> ${sessionId}`));
      await tx.delete(signInCodes).where(eq(signInCodes.userId, id));
      await tx.delete(passwordResets).where(eq(passwordResets.userId, id));
      await endPushSubscriptionsOfUser(tx, id, sessionId);
      await recordAudit(tx, {
        tenantId,
        actor: `user:${id}`,
        action: 'member.password_changed',
        targetType: 'user',
        targetId: id,
        details: { email },
      });
    });
    return { changed: true };
  }
}
