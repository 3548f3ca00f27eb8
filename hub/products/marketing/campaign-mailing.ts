import { AppError, notFound } from '../../../shared/errors.ts';
import { sunk } from '../../engine/skill.ts';
import type { Database } from '../../platform/db/database.ts';
import { retryOnOutage } from '../../platform/db/outage.ts';
import { MailError } from '../../platform/mail/mail.ts';
import type { Mailer } from '../../platform/mail/mail.ts';
import type { EmailContext, EmailOutcome } from '../automations/email/index.ts';
import { messageRecords } from '../automations/logs/index.ts';
import { personalise } from './personalise.ts';
import { claimMail, listUnmailed, mailCounts, readCampaigns, releaseMail, settleMail, simulateMails } from './store.ts';
import type { CampaignRow, ContactRow, MailCounts } from './store.ts';
import type { UnsubscribeLinks } from './unsubscribe-links.ts';

const batchSize = 100;

const escapeHtml = (value: string) =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Sends the mails of campaigns, at most one mail per contact and campaign. */
export class CampaignMailing {
  readonly #deps: { db: Database; mailer: Mailer | null; links: UnsubscribeLinks };

  constructor(dependencies: { db: Database; mailer: Mailer | null; links: UnsubscribeLinks }) {
    this.#deps = dependencies;
  }

  /**
   * Sends a campaign to every contact of its list that has not received it. Each mail is claimed before it is sent, so
   * that neither a retry nor a crash sends it twice. A mail that a crash interrupted is not sent again. A test run counts
   * a simulated mail to every subscribed contact, once for each run, and claims none.
   * @throws AppError `not_found`, `not_available` without an SMTP server, `skill_failed` when the server temporarily
   * refuses mail.
   */
  async send(campaignId: string, context: EmailContext): Promise<EmailOutcome> {
    const { db, mailer } = this.#deps;
    const { tenantId, environment } = context;
    const [campaign] = await db.read(tenantId, (tx) => readCampaigns(tx, tenantId, [campaignId]));
    if (campaign === undefined) throw notFound('campaign', campaignId);
    if (environment === 'test') {
      const simulated = await db.workspace(tenantId, (tx) => simulateMails(tx, campaign, context.runId));
      return this.#outcome(campaign, context, { sent: 0, simulated, failed: 0, unknown: 0 });
    }
    if (mailer === null)
      throw new AppError('not_available', 'This hub cannot send mail. Its operator must set SMTP_URL and MAIL_FROM.');
    const counts = { sent: 0, simulated: 0, failed: 0, unknown: 0 };
    let after: string | undefined;
    for (;;) {
      const batch = await db.read(tenantId, (tx) => listUnmailed(tx, campaign, after, batchSize));
      // Each contact is read when its mail is claimed, so that only one contact is in memory at a time.
      for (const { id } of batch) {
        context.signal.throwIfAborted();
        after = id;
        const contact = await db.workspace(tenantId, (tx) => claimMail(tx, campaign, id));
        if (contact === null) continue;
        const status = await this.#mailOne(mailer, campaign, contact, context);
        counts[status] += 1;
      }
      if (batch.length < batchSize) break;
    }
    return this.#outcome(campaign, context, counts);
  }

  async #outcome(
    campaign: CampaignRow,
    { tenantId, workflowId, runId, stepIndex, environment }: EmailContext,
    counts: MailCounts,
  ): Promise<EmailOutcome> {
    const [now] = await this.#deps.db.read(tenantId, (tx) => readCampaigns(tx, tenantId, [campaign.id]));
    const output = { campaignId: campaign.id, ...counts, total: { ...mailCounts(now as CampaignRow) } };
    return {
      output,
      outputText: `${counts.sent + counts.simulated} mails of ${campaign.name}`,
      rows: [
        sunk(messageRecords, {
          tenantId,
          workflowId,
          runId,
          stepIndex,
          channel: 'campaign',
          recipient: campaign.name,
          status: environment === 'test' ? 'simulated' : 'delivered',
          summary: output,
        }),
      ],
    };
  }

  async #mailOne(
    mailer: Mailer,
    campaign: CampaignRow,
    contact: ContactRow,
    { tenantId, signal }: EmailContext,
  ): Promise<'sent' | 'failed' | 'unknown'> {
    const { db } = this.#deps;
    // Only this process knows the outcome of the mail, so recording it is retried during an outage.
    const settle = (status: 'sent' | 'failed', error: string | null) =>
      retryOnOutage(signal, () =>
        db.workspace(tenantId, (tx) => settleMail(tx, campaign.id, contact.id, status, error)),
      );
    const link = this.#deps.links.of(contact.id);
    const footer = `Unsubscribe: ${link}`;
    const plain = (value: string) => value;
    try {
      await mailer.send(
        {
          to: [contact.email],
          subject: personalise(campaign.subject, contact, plain).replaceAll(/[\r\n]+/g, ' '),
          ...(campaign.text === null
            ? {}
            : { text: `${personalise(campaign.text, contact, plain)}\n\n-- \n${footer}\n` }),
          ...(campaign.html === null
            ? {}
            : {
                html: `${personalise(campaign.html, contact, escapeHtml)}<p><small><a href="${escapeHtml(link)}">Unsubscribe</a></small></p>`,
              }),
          headers: { 'List-Unsubscribe': `<${link}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
          messageId: `<${campaign.id}.${contact.id}@outrigger>`,
        },
        signal,
      );
      await settle('sent', null);
      return 'sent';
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      // The mail stays claimed: the server may have accepted it, and a contact must not receive it twice.
      if (error.inDoubt) return 'unknown';
      if (!error.retryable) {
        await settle('failed', error.message.slice(0, 500));
        return 'failed';
      }
      // The server refused this mail, so a retry may send it.
      await retryOnOutage(signal, () => db.workspace(tenantId, (tx) => releaseMail(tx, campaign.id, contact.id)));
      throw new AppError('skill_failed', error.message, { cause: error });
    }
  }
}
