import { createHash, randomBytes } from 'node:crypto';
import { hash as hashPassword } from '@node-rs/argon2';
import { AppError } from '../../../../shared/errors.ts';
import type { Database } from '../../../platform/db/database.ts';
import { and, eq, gt, sql } from '../../../platform/db/orm.ts';
import { publishAccessChange } from '../../../platform/http/auth/principal.ts';
import type { Mailer } from '../../../platform/mail/mail.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { commandLines } from '../../../platform/process/command-lines.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { recordAudit } from '../audit/index.ts';
import { endPushSubscriptionsOfUser } from './push-subscriptions.ts';
import { passwordResets, sessions, signInAddresses, signInCodes, users } from './schema.ts';
import { findUserByEmail } from './store.ts';

export interface PasswordResetDependencies {
  db: Database;
  rateLimiter: RateLimiter;
  logger: Logger;
  mailer: Mailer | null;
  /** Base URL in mailed links. The Host header is never used, because its sender chooses it. */
  publicUrl: string | null;
}

const validMinutes = 60;
const mailDeadlineMs = 30_000;
/** Links per account. Earlier links stay valid, so that requests of other people never lock out the user. */
const accountLimit = { limit: 3, windowSeconds: 3600 };
/** Requests of one process whose mail has not been sent. */
const maxPending = 200;

const hashOf = (token: string) => createHash('sha256').update(token).digest();

/** Sets a new password for users who can read the mail of their account. */
export class PasswordResets {
  readonly #deps: PasswordResetDependencies;
  readonly #pending = new Set<Promise<void>>();

  constructor(dependencies: PasswordResetDependencies) {
    this.#deps = dependencies;
  }

  /** Whether this hub can mail password links. */
  get isAvailable(): boolean {
    return this.#deps.mailer !== null && this.#deps.publicUrl !== null;
  }

  /**
   * Mails a link to the user of an account, if the account exists.
   * The account is looked up after the response, so that neither the response nor its duration reveals whether the
   * account exists. If the process stops before the mail is sent, the request is lost.
   * @throws AppError `not_available`, `rate_limited`, `unavailable`, in the same way for every address.
   */
  async request(email: string): Promise<{ requested: true }> {
    const { mailer, publicUrl, rateLimiter, logger } = this.#deps;
    if (mailer === null || publicUrl === null)
      throw new AppError(
        'not_available',
        `This hub mails no password links: its operator sets SMTP_URL, MAIL_FROM and PUBLIC_URL, or sets a password with: ${commandLines.hub} user password --email EMAIL`,
      );
    const account = createHash('sha256').update(email).digest('base64url');
    const state = await rateLimiter.take(`password-reset:${account}`, accountLimit);
    if (!state.allowed) {
      const retryAfterSeconds = Math.max(1, Math.ceil((state.resetAt.getTime() - Date.now()) / 1000));
      throw new AppError(
        'rate_limited',
        `More than ${accountLimit.limit} password links an hour for this account; use the newest mail, or try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`,
        { retryAfterSeconds, limit: accountLimit.limit },
      );
    }
    if (this.#pending.size >= maxPending)
      throw new AppError('unavailable', 'Too many password links are waiting to be mailed; try again in a minute.');
    const sending = this.#mailLink(mailer, publicUrl, email)
      .catch((error: unknown) => logger.warn({ err: error, part: 'mail' }, 'a password link could not be mailed'))
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
    return { requested: true };
  }

  /** Whether the token of a link is valid. */
  async isOpen(token: string): Promise<boolean> {
    return this.#deps.db.system(async (tx) => {
      const rows = await tx
        .select({ userId: passwordResets.userId })
        .from(passwordResets)
        .where(and(eq(passwordResets.tokenHash, hashOf(token)), gt(passwordResets.expiresAt, sql`now()`)));
      return rows.length > 0;
    });
  }

  /**
   * Sets the password and ends all sessions, notifications, sign-in links and password links of the user.
   * @throws AppError `invalid_credentials`.
   */
  async reset({ token, password }: { token: string; password: string }): Promise<{ changed: true }> {
    const { db } = this.#deps;
    // Hashing is expensive, so check the token first.
    if (!(await this.isOpen(token))) throw invalidLink();
    const passwordHash = await hashPassword(password);
    await db.system(async (tx) => {
      const [reset] = await tx
        .select({ userId: passwordResets.userId })
        .from(passwordResets)
        .where(and(eq(passwordResets.tokenHash, hashOf(token)), gt(passwordResets.expiresAt, sql`now()`)));
      if (reset === undefined) throw invalidLink();
      // The update locks the user. Of two concurrent resets, the second finds its token deleted.
      const [user] = await tx
        .update(users)
        .set({ passwordHash })
        .where(eq(users.id, reset.userId))
        .returning({ id: users.id, tenantId: users.tenantId, email: users.email });
      const used = await tx
        .delete(passwordResets)
        .where(eq(passwordResets.userId, reset.userId))
        .returning({ tokenHash: passwordResets.tokenHash });
      if (user === undefined || !used.some(({ tokenHash }) => tokenHash.equals(hashOf(token)))) throw invalidLink();
      await tx.delete(sessions).where(eq(sessions.userId, user.id));
      await tx.delete(signInCodes).where(eq(signInCodes.userId, user.id));
      await tx.delete(signInAddresses).where(eq(signInAddresses.userId, user.id));
      await endPushSubscriptionsOfUser(tx, user.id);
      await recordAudit(tx, {
        tenantId: user.tenantId,
        actor: `user:${user.id}`,
        action: 'member.password_reset',
        targetType: 'user',
        targetId: user.id,
        details: { email: user.email },
      });
      publishAccessChange(tx, user.tenantId);
    });
    return { changed: true };
  }

  async #mailLink(mailer: Mailer, publicUrl: string, email: string): Promise<void> {
    const { db, logger } = this.#deps;
    const token = randomBytes(32).toString('base64url');
    const isKnown = await db.system(async (tx) => {
      const user = await findUserByEmail(tx, email);
      // Accounts of this reserved domain (RFC 2606) receive no mail. They sign in with one-time links.
      if (user === null || email.endsWith('.invalid')) return false;
      await tx.insert(passwordResets).values({
        tokenHash: hashOf(token),
        tenantId: user.tenantId,
        userId: user.id,
        expiresAt: sql`now() + make_interval(mins => ${validMinutes})`,
      });
      await recordAudit(tx, {
        tenantId: user.tenantId,
        actor: 'public',
        action: 'member.password_reset_requested',
        targetType: 'user',
        targetId: user.id,
        details: { email: user.email },
      });
      return true;
    });
    if (!isKnown) return;
    await mailer.send(
      {
        to: [email],
        subject: 'Set a new password for Outrigger',
        text: `Someone requested a new password for ${email} at ${publicUrl}.\n\nTo set a new password, open this link within ${validMinutes} minutes. It works once:\n\n${publicUrl}/reset-password?token=${token}\n\nIf you did not request this, ignore this mail. Your password stays as it is.\n`,
      },
      AbortSignal.timeout(mailDeadlineMs),
    );
    logRecovery(logger, 'mail');
  }
}

function invalidLink(): AppError {
  return new AppError(
    'invalid_credentials',
    'This password link is wrong, used or older than an hour; request a new one with "Forgot your password?".',
  );
}
