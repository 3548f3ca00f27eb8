import type { Database } from '../../../platform/db/database.ts';
import { MailError } from '../../../platform/mail/mail.ts';
import type { Mailer } from '../../../platform/mail/mail.ts';
import { logRecovery } from '../../../platform/observability/log-throttle.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { mailAdmins } from '../../core/identity/index.ts';
import { todayStart } from './today.ts';

/** Delay before a mail is retried after a failure or a crash, in seconds. */
const retrySeconds = 120;
/** Workspaces per statement. */
const batchSize = 200;

interface DueMail {
  tenant_id: string;
  notified_percent: number;
  notified_day: string;
}

/**
 * Notifies the admins of a workspace when 80 % and 100 % of its daily budget for models is used.
 * Each notice is sent once a day, in the audit log and by mail.
 */
export class BudgetMails {
  readonly #deps: { db: Database; mailer: Mailer | null; logger: Logger };

  constructor(dependencies: { db: Database; mailer: Mailer | null; logger: Logger }) {
    this.#deps = dependencies;
  }

  /** Records due notices and sends their mails. The sweep runs this method. */
  async send(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted && (await this.#recordDue()) === batchSize);
    const { db, mailer, logger } = this.#deps;
    if (mailer === null) return;
    while (!stopping.aborted) {
      // Both commits wait for the disk, so that a crash of PostgreSQL does not repeat a sent mail.
      const { rows } = await db.system((tx) =>
        tx.query<DueMail>(
          'begin_budget_mail',
          `UPDATE ai_budgets SET mail_due_at = now() + make_interval(secs => $1) WHERE tenant_id = (
             SELECT tenant_id FROM ai_budgets WHERE mail_due_at <= now() ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
           ) RETURNING tenant_id, notified_percent, notified_day::text`,
          [retrySeconds],
        ),
      );
      const [due] = rows;
      if (due === undefined) return;
      const { tenant_id: tenantId, notified_percent: percent, notified_day: day } = due;
      const isAll = percent >= 100;
      try {
        await mailAdmins(
          { db, mailer },
          tenantId,
          {
            subject: isAll
              ? "Today's budget for models is used up"
              : `${percent} % of today's budget for models is used`,
            text: `${
              isAll
                ? `The daily budget of this workspace for models is used up on ${day} (UTC). Until 00:00 UTC no model is called: runs answer 429, steps of workflows and agents fail, and chats go to human agents.`
                : `${percent} % of the daily budget of this workspace for models is used on ${day} (UTC). When it is used up, no model is called until 00:00 UTC.`
            }\n\nGET /tenants/${tenantId}/ai/usage shows the usage by model. PUT /tenants/${tenantId}/ai/budget changes the budget.\n`,
            messageId: `<ai-budget-${tenantId}-${day}-${percent}@outrigger>`,
          },
          stopping,
        );
        logRecovery(logger, 'mail');
      } catch (error) {
        logger.warn({ err: error, part: 'mail', tenantId }, 'mailing a budget notice to the admins failed');
        if (!(error instanceof MailError) || error.retryable) continue;
      }
      await db.system((tx) =>
        tx.query(
          'end_budget_mail',
          // A higher percentage that was recorded meanwhile stays due.
          'UPDATE ai_budgets SET mail_due_at = NULL WHERE tenant_id = $1 AND notified_percent = $2 AND notified_day = $3',
          [tenantId, percent, day],
        ),
      );
    }
  }

  #recordDue(): Promise<number> {
    return this.#deps.db.system(async (tx) => {
      const { rows } = await tx.query<DueMail>(
        'note_budget_mails',
        `UPDATE ai_budgets b SET notified_day = r.day, notified_percent = r.percent, mail_due_at = now()
         FROM (
           SELECT n.tenant_id, n.day, CASE WHEN u.share >= 1 THEN 100 ELSE 80 END AS percent FROM (
             SELECT a.*, (now() AT TIME ZONE 'UTC')::date AS day FROM ai_budgets a
             WHERE a.notified_day IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date OR a.notified_percent < 100) n
           CROSS JOIN LATERAL (
             SELECT greatest(
               CASE WHEN n.daily_tokens > 0 THEN sum(input_tokens + output_tokens) / n.daily_tokens END,
               CASE WHEN n.daily_cost_micros > 0 THEN sum(cost_micros) FILTER (WHERE currency = n.currency) / n.daily_cost_micros END) AS share
             FROM ai_usage WHERE tenant_id = n.tenant_id AND hour >= ${todayStart}) u
           WHERE u.share >= 0.8 AND (n.notified_day IS DISTINCT FROM n.day OR n.notified_percent < 80 OR u.share >= 1) LIMIT $1) r
         WHERE b.tenant_id = r.tenant_id RETURNING b.tenant_id, b.notified_percent, b.notified_day::text`,
        [batchSize],
      );
      for (const { tenant_id: tenantId, notified_percent: percent, notified_day: day } of rows)
        await recordAudit(tx, {
          tenantId,
          actor: 'platform',
          action: 'ai_budget.reached',
          targetType: 'workspace',
          targetId: tenantId,
          details: { percent, day },
        });
      return rows.length;
    });
  }
}
