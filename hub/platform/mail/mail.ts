import { createTransport } from 'nodemailer';

export interface Mail {
  /** What readers see as the sender, in place of the hub's name; its address is always the hub's own. */
  fromName?: string | undefined;
  replyTo?: string | undefined;
  to: readonly string[];
  subject: string;
  text?: string | undefined;
  html?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** The same for every try of one mail, so that a mail server or reader can tell that they are one. */
  messageId?: string | undefined;
}

/**
 * A mail that the server did not take; `retryable` when it said so for now, or could not be reached. `inDoubt` when the connection
 * broke after the mail may have been handed over: nobody knows, so it must not be sent again by itself.
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

/** Codes of failures in which no mail can have left. */
const notSentCodes = new Set(['EDNS', 'EAUTH', 'EENVELOPE', 'ETLS']);
/** The library tells a connection that never came to be from one that broke later by its words alone. */
const notConnected = /^(connect |Connection timeout|Greeting never received)/;

/** The way out for mail. */
export interface Mailer extends AsyncDisposable {
  /** Hands a mail to the server. @throws MailError, or the signal's reason. */
  send(mail: Mail, signal: AbortSignal): Promise<{ messageId: string; accepted: string[]; rejected: string[] }>;
}

/** The address in a sender such as `Outrigger <hub@example.com>`. */
function addressOf(sender: string): string {
  const open = sender.lastIndexOf('<');
  const close = sender.indexOf('>', open);
  return (open === -1 || close === -1 ? sender : sender.slice(open + 1, close)).trim();
}

/** Sends through an SMTP server, always as one sender. @param url smtp:// or smtps://, with user and password. @param from the sender of all mail. */
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
          throw new MailError(`The connection to the mail server broke while it took the mail: ${reply}`, {
            retryable: false,
            inDoubt,
            cause: error,
          });
        throw new MailError(`The mail server did not take the mail: ${reply}`, {
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
