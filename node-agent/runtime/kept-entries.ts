import { parseAuditLine } from './audit-line.ts';
import type { AuditLine } from './audit-line.ts';
import { linesFromEnd } from './file-lines.ts';

/** What a rotation keeps of each kind, in bytes: many entries of one kind do not push out the other. */
const maxBytes = { owner: 512 * 1024, program: 512 * 1024 };

function kindOf({ type }: AuditLine): keyof typeof maxBytes | null {
  if (type === 'system.run') return 'program';
  return /^(?:owner|settings|control)\.|^log\.set_aside$/.test(type) ? 'owner' : null;
}

/** The entries of a file that a rotation removes which stay in the log: what the owner did, and programs that ran. Oldest first. */
export function entriesToKeep(path: string): AuditLine[] {
  const left = { ...maxBytes };
  const ended = new Set<string>();
  const found: AuditLine[] = [];
  for (const line of entriesFromEnd(path)) {
    const kind = kindOf(line);
    if (kind === null || (line.phase === 'begun' && ended.has(line.commandId))) continue;
    ended.add(line.commandId);
    // Only the entry of the rotation itself counts for the chain, the settings and the pairing.
    const { prev: _prev, settings: _settings, pairing: _pairing, keptFrom: _keptFrom, kept: _kept, ...entry } = line;
    left[kind] -= Buffer.byteLength(JSON.stringify(entry));
    if (left[kind] >= 0) found.push(entry);
  }
  return found.toReversed();
}

/** The entries of a file and those that it keeps of removed files, newest first. */
function* entriesFromEnd(path: string): Generator<AuditLine> {
  for (const text of linesFromEnd(path)) {
    const line = parseAuditLine(text);
    if (line === null) continue;
    yield line;
    yield* line.kept?.toReversed() ?? [];
  }
}
