import { pino } from 'pino';
import pretty from 'pino-pretty';

export type Logger = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'pretty' | 'json';
  color: boolean;
}

/** Logs JSON lines to standard error, or lines for people. Ids may stand in them, payloads and secrets never. */
export function createLogger({ level, format, color }: LogOptions): Logger {
  const redact = { paths: ['*.password', '*.secret', '*.key', '*.token', '*.authorization', 'headers.authorization', 'headers["x-api-key"]'], censor: '[redacted]' };
  if (format === 'json') return pino({ level, redact, base: { app: 'outrigger' } }, pino.destination({ fd: 2, sync: false }));
  const stream = pretty({ destination: 2, sync: true, ignore: 'pid,hostname,app', translateTime: 'SYS:HH:MM:ss', colorize: color });
  return pino({ level, redact }, stream);
}
