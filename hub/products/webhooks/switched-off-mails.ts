import type { Database } from '../../platform/db/database.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { Mailer } from '../../platform/mail/mail.ts';
import { logRecovery } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { mailAdmins } from '../core/identity/index.ts';

/** A mail that could not be sent, or whose process died, is tried again after so long, in seconds. */
const retrySeconds = 120;

/** Tells the admins of a workspace by mail that a webhook was switched off. */
export class SwitchedOffMails {
  readonly #deps: { db: Database; mailer: Mailer | null; logger: Logger };

  constructor(dependencies: { db: Database; mailer: Mailer | null; logger: Logger }) {
    this.#deps = dependencies;
  }

  /** Sends the mails that are due; part of the sweep. Nothing without a mail server. */
  async send(stopping: AbortSignal): Promise<void> {
    const { db, mailer, logger } = this.#deps;
    if (mailer === null) return;
    while (!stopping.aborted) {
      // Both commits wait for the disk, so that a crash of PostgreSQL does not repeat a mail that was sent.
      const { rows } = await db.system((tx) =>
        tx.query<{ id: string; tenant_id: string; url: string; reason: string | null }>(
          'begin_webhook_mail',
          `UPDATE webhooks SET mail_due_at = now() + make_interval(secs => $1) WHERE id = (
             SELECT id FROM webhooks WHERE mail_due_at <= now() ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
           ) RETURNING id, tenant_id, url, disabled_reason AS reason`,
          [retrySeconds],
        ),
      );
      const [due] = rows;
      if (due === undefined) return;
      try {
        const { host } = new URL(due.url);
        await mailAdmins(
          { db, mailer },
          due.tenant_id,
          {
            subject: `A webhook to ${host} was switched off`,
            text: `The webhook ${due.id} to ${host} was switched off: ${due.reason ?? ''}\n\nWhat happens meanwhile is not sent to it. What was waiting is kept for 30 days and goes out once an admin switches the webhook on again.\n`,
            messageId: `<webhook-${due.id}-${Date.now()}@outrigger>`,
          },
          stopping,
        );
        logRecovery(logger, 'mail');
      } catch (error) {
        logger.warn({ err: error, part: 'mail', webhookId: due.id }, 'admins could not be told of a webhook by mail');
        if (!(error instanceof MailError) || error.retryable) continue;
      }
      await db.system((tx) =>
        tx.query('end_webhook_mail', 'UPDATE webhooks SET mail_due_at = NULL WHERE id = $1', [due.id]),
      );
    }
  }
}
