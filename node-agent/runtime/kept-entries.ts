import { parseAuditLine } from './audit-line.ts';
import type { AuditLine } from './audit-line.ts';
import { linesFromEnd } from './file-lines.ts';

/** Bytes that a rotation keeps of each kind, so that many entries of one kind do not displace the other kind. */
const maxBytes = { owner: 512 * 1024, program: 512 * 1024 };

function kindOf({ type }: AuditLine): keyof typeof maxBytes | null {
  if (type === 'system.run') return 'program';
  return /^(?:owner|settings|control)\.|^log\.set_aside$/.test(type) ? 'owner' : null;
}

/** The entries to keep of a file that a rotation removes: the owner's actions, and programs that ran. Oldest first. */
export function entriesToKeep(path: string): AuditLine[] {
  const left = { ...maxBytes };
  const ended = new Set<string>();
  const found: AuditLine[] = [];
  for (const line of entriesFromEnd(path)) {
    const kind = kindOf(line);
    if (kind === null || (line.phase === 'begun' && ended.has(line.commandId))) continue;
    ended.add(line.commandId);
    // The rotation's own entry has the chain, the settings and the pairing.
    const { prev: _prev, settings: _settings, pairing: _pairing, keptFrom: _keptFrom, kept: _kept, ...entry } = line;
    left[kind] -= Buffer.byteLength(JSON.stringify(entry));
    if (left[kind] >= 0) found.push(entry);
  }
  return found.toReversed();
}

/** Yields the entries of a file, then those that it keeps of removed files, newest first. */
function* entriesFromEnd(path: string): Generator<AuditLine> {
  const kept: AuditLine[] = [];
  for (const text of linesFromEnd(path)) {
    const line = parseAuditLine(text);
    if (line === null) continue;
    yield line;
    kept.push(...(line.kept?.toReversed() ?? []));
  }
  yield* kept;
}
