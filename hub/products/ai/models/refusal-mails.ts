import type { Database } from '../../../platform/db/database.ts';
import { MailError } from '../../../platform/mail/mail.ts';
import type { Mailer } from '../../../platform/mail/mail.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { mailAdmins } from '../../core/identity/index.ts';

/** Delay before a mail is retried after a failure or a crash, in seconds. */
const retrySeconds = 120;

const whatToCheck: Readonly<Record<number, string>> = {
  401: 'its API key is missing or not valid',
  403: 'its API key may not use it',
  404: 'there is no such model, or its address is wrong',
};

interface DueMail {
  scope: string;
  model_id: string;
  tenant_id: string;
  status: number;
  /** When the refusal was recorded. It is the same in each attempt, so that mail servers recognize duplicates. */
  notified_ms: string;
}

/** Mails the admins of a workspace when a model refuses calls. */
export class RefusalMails {
  readonly #deps: { db: Database; mailer: Mailer | null; logger: Logger };

  constructor(dependencies: { db: Database; mailer: Mailer | null; logger: Logger }) {
    this.#deps = dependencies;
  }

  /** Sends due mails. Does nothing without a mail server. The sweep runs this method. */
  async send(stopping: AbortSignal): Promise<void> {
    const { db, mailer, logger } = this.#deps;
    if (mailer === null) return;
    while (!stopping.aborted) {
      // Both commits wait for the disk, so that a crash of PostgreSQL does not repeat a sent mail.
      const { rows } = await db.system((tx) =>
        tx.query<DueMail>(
          'begin_model_mail',
          `UPDATE model_breakers SET mail_due_at = now() + make_interval(secs => $1) WHERE (scope, model_id) = (
             SELECT scope, model_id FROM model_breakers WHERE mail_due_at <= now() ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
           ) RETURNING scope, model_id, tenant_id, notified_status AS status, (extract(epoch FROM notified_at) * 1000)::bigint::text AS notified_ms`,
          [retrySeconds],
        ),
      );
      const [due] = rows;
      if (due === undefined) return;
      const { model_id: modelId, status } = due;
      try {
        await mailAdmins(
          { db, mailer },
          due.tenant_id,
          {
            subject: `The model ${modelId} refuses its calls`,
            text: `The model ${modelId} answered ${status}: ${whatToCheck[status] ?? 'it refuses calls'}. Check its settings (PUT /v1/automations/models) and the console of its provider.\n\nUntil then, the next models in the order are called, if there are any.\n`,
            messageId: `<model-${due.tenant_id}-${modelId}-${due.notified_ms}@outrigger>`,
          },
          stopping,
        );
        logRecovery(logger, 'mail');
      } catch (error) {
        logger.warn({ err: error, part: 'mail', modelId }, 'mailing a model refusal to the admins failed');
        if (!(error instanceof MailError) || error.retryable) continue;
      }
      await db.system((tx) =>
        tx.query('end_model_mail', 'UPDATE model_breakers SET mail_due_at = NULL WHERE scope = $1 AND model_id = $2', [
          due.scope,
          modelId,
        ]),
      );
    }
  }
}
