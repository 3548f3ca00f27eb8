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

/** Logs JSON lines to standard error, or lines for people. Ids may stand in them, payloads and secrets never; what repeats itself is counted. */
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

/** Standard error; one that is gone or full loses lines, and takes nobody down. */
function standardError(): pino.DestinationStream {
  const stream = pino.destination({ fd: 2, sync: false, maxLength: 1024 * 1024 });
  stream.on('error', () => undefined);
  return stream;
}
