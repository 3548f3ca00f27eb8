import { createTransport } from 'nodemailer';

export interface Mail {
  /** Display name of the sender instead of the hub's name. The address is always the hub's own. */
  fromName?: string | undefined;
  replyTo?: string | undefined;
  to: readonly string[];
  subject: string;
  text?: string | undefined;
  html?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Stays the same for all attempts of one mail, so that servers and readers can detect duplicates. */
  messageId?: string | undefined;
}

/**
 * The server did not accept a mail. `retryable`: the failure is temporary or the server was unreachable.
 * `inDoubt`: the connection failed after the mail may have been accepted, so it must not be sent again automatically.
 */
export class MailError extends Error {
  readonly retryable: boolean;
  readonly inDoubt: boolean;

  constructor(message: string, options: { retryable: boolean; inDoubt?: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MailError';
    this.retryable = options.retryable;
    this.inDoubt = options.inDoubt ?? false;
  }
}

/** Error codes that prove that no mail was sent. */
const notSentCodes = new Set(['EDNS', 'EAUTH', 'EENVELOPE', 'ETLS']);
/** Nodemailer distinguishes a failed connection attempt from a later failure only by the message. */
const notConnected = /^(connect |Connection timeout|Greeting never received)/;

/** Sends mail. */
export interface Mailer extends AsyncDisposable {
  /** Sends a mail to the server. @throws MailError, or the signal's reason. */
  send(mail: Mail, signal: AbortSignal): Promise<{ messageId: string; accepted: string[]; rejected: string[] }>;
}

/** The address part of a sender such as `Outrigger <hub@example.com>`. */
export function addressOf(sender: string): string {
  const open = sender.lastIndexOf('<');
  const close = sender.indexOf('>', open);
  return (open === -1 || close === -1 ? sender : sender.slice(open + 1, close)).trim();
}

/**
 * Sends mail through an SMTP server, always from one sender.
 * @param url smtp:// or smtps://, with user and password.
 * @param from sender of all mail.
 */
export function createSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport(url, {
    pool: true,
    maxConnections: 4,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as Parameters<typeof createTransport>[1]);
  return {
    async send(mail, signal) {
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const onAbort = () => aborted.reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const sent = await Promise.race([
          transport.sendMail({
            from: mail.fromName === undefined ? from : { name: mail.fromName, address: addressOf(from) },
            ...(mail.replyTo === undefined ? {} : { replyTo: mail.replyTo }),
            to: [...mail.to],
            subject: mail.subject,
            ...(mail.text === undefined ? {} : { text: mail.text }),
            ...(mail.html === undefined ? {} : { html: mail.html }),
            ...(mail.headers === undefined ? {} : { headers: mail.headers }),
            ...(mail.messageId === undefined ? {} : { messageId: mail.messageId }),
          }),
          aborted.promise,
        ]);
        const addresses = (list: unknown) => (Array.isArray(list) ? list.map(String) : []);
        const { messageId, accepted, rejected } = sent as { messageId: string; accepted?: unknown; rejected?: unknown };
        return { messageId, accepted: addresses(accepted), rejected: addresses(rejected) };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const { responseCode, response, code, message } = error as Error & {
          responseCode?: number;
          response?: string;
          code?: string;
        };
        const reply = (response ?? message).slice(0, 300);
        const inDoubt = responseCode === undefined && !notSentCodes.has(code ?? '') && !notConnected.test(message);
        if (inDoubt)
          throw new MailError(`The connection to the mail server failed while the mail was sent: ${reply}`, {
            retryable: false,
            inDoubt,
            cause: error,
          });
        throw new MailError(`The mail server did not accept the mail: ${reply}`, {
          retryable: responseCode === undefined ? code !== 'EENVELOPE' : responseCode < 500,
          cause: error,
        });
      } finally {
        signal.removeEventListener('abort', onAbort);
        aborted.promise.catch(() => undefined);
      }
    },
    async [Symbol.asyncDispose]() {
      transport.close();
    },
  };
}
