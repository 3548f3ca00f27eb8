import type { Database } from '../../../platform/db/database.ts';
import type { Mail, Mailer } from '../../../platform/mail/mail.ts';

const mailDeadlineMs = 30_000;
const maxAdmins = 50;

/**
 * Sends a mail to each admin of a workspace. Stops at the first failure.
 * @throws MailError, or the reason of the signal.
 */
export async function mailAdmins(
  { db, mailer }: { db: Database; mailer: Mailer },
  tenantId: string,
  mail: Pick<Mail, 'subject' | 'text' | 'messageId'>,
  signal: AbortSignal,
): Promise<void> {
  const admins = await db.systemStatement<{ email: string }>(
    'list_admins_for_mail',
    `SELECT email FROM users WHERE tenant_id = $1 AND role = 'admin' ORDER BY id LIMIT $2`,
    [tenantId, maxAdmins],
  );
  for (const { email } of admins)
    await mailer.send({ ...mail, to: [email] }, AbortSignal.any([signal, AbortSignal.timeout(mailDeadlineMs)]));
}
