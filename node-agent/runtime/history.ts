import type { HistoryEntry } from '../../shared/companion/state.ts';
import type { AuditLine, AuditLog } from './audit.ts';

const dayMs = 24 * 60 * 60_000;

interface Pictures {
  has(commandId: string): boolean;
}

export function historyEntryOf(line: AuditLine, pictures: Pictures): HistoryEntry {
  const { commandId, type, time, summary, approvedBy, outcome, message, durationMs } = line;
  const { began = outcome === 'succeeded', reason = null, origin = null, script = null } = line;
  return {
    commandId,
    type,
    time,
    summary,
    script,
    approvedBy,
    origin,
    outcome,
    message,
    reason,
    durationMs,
    began,
    hasPicture: pictures.has(commandId),
  };
}

/** The entries of the last 24 hours, newest first. */
export function readHistory(audit: AuditLog, pictures: Pictures, limit: number): HistoryEntry[] {
  const since = Date.now() - dayMs;
  return audit
    .read(limit)
    .filter(({ time }) => Date.parse(time) >= since)
    .toReversed()
    .map((line) => historyEntryOf(line, pictures));
}
