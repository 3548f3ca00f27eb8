import { pino } from 'pino';
import pretty from 'pino-pretty';
import { describeError } from './describe-error.ts';
import { attachThrottle, LogThrottle, throttleLogs } from './log-throttle.ts';

export type Logger = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'pretty' | 'json';
  color: boolean;
}

/**
 * Logs to standard error as JSON lines or in a readable format. Lines can contain ids, never payloads or secrets.
 * Repeated lines are suppressed.
 */
export function createLogger(
  { level, format, color }: LogOptions,
  destination?: pino.DestinationStream,
  throttle = new LogThrottle(),
): Logger {
  const redact = {
    paths: [
      '*.password',
      '*.secret',
      '*.key',
      '*.token',
      '*.authorization',
      'headers.authorization',
      'headers["x-api-key"]',
    ],
    censor: '[redacted]',
  };
  const serializers = { err: describeError };
  const hooks = { logMethod: throttleLogs(throttle) } as pino.LoggerOptions['hooks'];
  if (format === 'json')
    return attachThrottle(
      pino({ level, redact, serializers, hooks, base: { app: 'outrigger' } }, destination ?? standardError()),
      throttle,
    );
  const stream = pretty({
    destination: destination ?? 2,
    sync: true,
    ignore: 'pid,hostname,app',
    translateTime: 'SYS:HH:MM:ss',
    colorize: color,
  });
  return attachThrottle(pino({ level, redact, serializers, hooks }, stream), throttle);
}

/** Writes to standard error. When it is closed or blocked, lines are lost and the process continues. */
function standardError(): pino.DestinationStream {
  const stream = pino.destination({ fd: 2, sync: false, maxLength: 1024 * 1024 });
  stream.on('error', () => undefined);
  return stream;
}
