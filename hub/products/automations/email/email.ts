import { z } from 'zod';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';
import { sunk } from '../../../engine/skill.ts';
import type { SinkRow } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import { retryOnOutage } from '../../../platform/db/outage.ts';
import { MailError } from '../../../platform/mail/mail.ts';
import type { Mailer } from '../../../platform/mail/mail.ts';
import { messageRecords } from '../logs/index.ts';
import type { MessageRecord } from '../logs/index.ts';

export interface EmailRequest {
  to: string[];
  subject: string;
  text?: string | undefined;
  html?: string | undefined;
  /** Display name of the sender. The address is the address of the hub. */
  fromName?: string | undefined;
  replyTo?: string | undefined;
}

export interface EmailContext {
  tenantId: string;
  workflowId: string;
  runId: string;
  stepIndex: number;
  environment: 'live' | 'test';
  idempotencyKey: string;
  signal: AbortSignal;
}

export interface EmailOutcome {
  output: JsonValue;
  outputText: string;
  rows: SinkRow[];
}

/** The outcome of a mail, as in `EmailOutcome.output`. */
export const emailOutput = z.union([
  z.object({
    simulated: z.literal(true).describe('In the test environment, which sends nothing'),
    to: z.array(z.string()),
  }),
  z.object({ messageId: z.string(), accepted: z.array(z.string()), rejected: z.array(z.string()) }),
]);

/** Sends mails of workflows through the SMTP server of the hub. */
export class Email {
  readonly #deps: { db: Database; mailer: Mailer | null };

  constructor(dependencies: { db: Database; mailer: Mailer | null }) {
    this.#deps = dependencies;
  }

  /** Whether this hub can send mail. */
  get isConfigured(): boolean {
    return this.#deps.mailer !== null;
  }

  /**
   * Sends a mail. In the test environment it only records the mail.
   * @throws AppError `not_available` without an SMTP server, `skill_failed` for a temporary refusal, `delivery_refused`
   * for a permanent refusal, `outcome_unknown` when the outcome is unknown.
   */
  async send(request: EmailRequest, context: EmailContext, channel = 'email'): Promise<EmailOutcome> {
    const { tenantId, workflowId, runId, stepIndex } = context;
    const recipient = request.to.join(', ').slice(0, 2000);
    const record = (status: MessageRecord['status'], more: JsonObject): MessageRecord => ({
      tenantId,
      workflowId,
      runId,
      stepIndex,
      channel,
      recipient,
      status,
      summary: { subject: request.subject, ...more },
    });
    if (context.environment === 'test') {
      return {
        output: { simulated: true, to: request.to },
        outputText: `simulated: mail to ${recipient}`,
        rows: [sunk(messageRecords, record('simulated', {}))],
      };
    }
    if (this.#deps.mailer === null)
      throw new AppError('not_available', 'This hub cannot send mail. Its operator must set SMTP_URL and MAIL_FROM.');
    try {
      const messageId = `<${context.idempotencyKey}@outrigger>`;
      const sent = await this.#deps.mailer.send({ ...request, messageId }, context.signal);
      const output = { messageId: sent.messageId, accepted: sent.accepted, rejected: sent.rejected };
      return {
        output,
        outputText: `mail to ${sent.accepted.join(', ')}`,
        rows: [sunk(messageRecords, record('delivered', output))],
      };
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      await retryOnOutage(context.signal, () =>
        this.#deps.db.workspace(tenantId, (tx) =>
          messageRecords.insert(tx, [record('failed', { error: error.message })]),
        ),
      );
      throw new AppError(
        error.inDoubt ? 'outcome_unknown' : error.retryable ? 'skill_failed' : 'delivery_refused',
        error.message,
        { cause: error },
      );
    }
  }

  /** Sends a mail of the hub itself, for example an approval link. Does nothing without an SMTP server. @throws MailError. */
  async notify(mail: { to: string; subject: string; text: string }, signal: AbortSignal): Promise<boolean> {
    if (this.#deps.mailer === null) return false;
    await this.#deps.mailer.send({ to: [mail.to], subject: mail.subject, text: mail.text }, signal);
    return true;
  }
}
