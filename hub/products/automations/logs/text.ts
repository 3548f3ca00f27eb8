import { visibleText } from '../../../../shared/visible-text.ts';
import type { LogRow } from './store.ts';

/**
 * A log line as text. Further lines of a message are indented, so that a message cannot look like another log line.
 * Control characters are shown as code points, so that a terminal does not execute them.
 */
export function logText({ createdAt, level, stepIndex, message }: LogRow): string {
  const text = visibleText(message).replaceAll('\n', '\n    ');
  return `${createdAt.toISOString()} ${level.padEnd(5)} step ${stepIndex}: ${text}\n`;
}
