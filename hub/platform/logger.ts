import { pino } from 'pino';
import pretty from 'pino-pretty';

export type Logger = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'pretty' | 'json';
  color: boolean;
}

/**
 * What of an error is logged: what it is, and where it comes from. Libraries hang connections, statements with their parameters and
 * keys on their errors; none of that belongs into a log.
 */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : String(error);
  const { code, internal, cause } = error as { code?: unknown; internal?: unknown; cause?: unknown };
  return {
    type: error.constructor.name,
    message: error.message,
    stack: error.stack,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(internal === undefined ? {} : { internal }),
    ...(cause === undefined || depth >= 4 ? {} : { cause: describeError(cause, depth + 1) }),
  };
}

/** Logs JSON lines to standard error, or lines for people. Ids may stand in them, payloads and secrets never. */
export function createLogger({ level, format, color }: LogOptions): Logger {
  const redact = { paths: ['*.password', '*.secret', '*.key', '*.token', '*.authorization', 'headers.authorization', 'headers["x-api-key"]'], censor: '[redacted]' };
  const serializers = { err: describeError };
  if (format === 'json') return pino({ level, redact, serializers, base: { app: 'outrigger' } }, pino.destination({ fd: 2, sync: false }));
  const stream = pretty({ destination: 2, sync: true, ignore: 'pid,hostname,app', translateTime: 'SYS:HH:MM:ss', colorize: color });
  return pino({ level, redact, serializers }, stream);
}
