import type { Database } from '../../platform/db/database.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { Mailer } from '../../platform/mail/mail.ts';
import { logRecovery } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { mailAdmins } from '../core/identity/index.ts';

/** Delay in seconds before a mail is retried that could not be sent or whose process died. */
const retrySeconds = 120;

/** Notifies the admins of a workspace by mail that a webhook was deactivated. */
export class DeactivationMails {
  readonly #deps: { db: Database; mailer: Mailer | null; logger: Logger };

  constructor(dependencies: { db: Database; mailer: Mailer | null; logger: Logger }) {
    this.#deps = dependencies;
  }

  /** Sends due mails in each sweep. Does nothing when no mail server is configured. */
  async send(stopping: AbortSignal): Promise<void> {
    const { db, mailer, logger } = this.#deps;
    if (mailer === null) return;
    while (!stopping.aborted) {
      // Both commits are durable, so that a crash of PostgreSQL does not repeat a mail that was sent.
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
            subject: `A webhook to ${host} was deactivated`,
            text: `The webhook ${due.id} to ${host} was deactivated: ${due.reason ?? ''}\n\nWhile it is inactive, no new events are recorded. Pending deliveries are kept for 30 days and resume when an admin reactivates the webhook.\n`,
            messageId: `<webhook-${due.id}-${Date.now()}@outrigger>`,
          },
          stopping,
        );
        logRecovery(logger, 'mail');
      } catch (error) {
        logger.warn(
          { err: error, part: 'mail', webhookId: due.id },
          'admins could not be notified of a deactivated webhook by mail',
        );
        if (!(error instanceof MailError) || error.retryable) continue;
      }
      await db.system((tx) =>
        tx.query('end_webhook_mail', 'UPDATE webhooks SET mail_due_at = NULL WHERE id = $1', [due.id]),
      );
    }
  }
}
