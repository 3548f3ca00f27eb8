import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { AuditHead, AuditVerdict } from '../../shared/companion/state.ts';
import { parseAuditLine } from './audit-line.ts';
import type { AuditLine } from './audit-line.ts';

/** The hash by which the next entry refers to this one: SHA-256, in hex, of the entry's text without the line end. */
export const hashOfLine = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `prev` of the first entry of a log. */
export const noHash = '0'.repeat(64);

const nameOf = ({ seq, time, type }: AuditLine) => `entry ${seq} (${time}, ${type})`;

interface Chained {
  line: AuditLine & { seq: number; prev: string };
  hash: string;
}

/**
 * Checks the files of a log, oldest first: each entry must hold the number and the hash of the entry before.
 * Lines that are not entries are ignored, because a crash in the middle of a write leaves one. Such a line cannot hide
 * a removed entry: the next entry holds the hash of the entry before.
 * @param heads Earlier heads of this log, from memory or from the hub. The log must still contain them.
 */
export function verifyChain(paths: readonly string[], heads: readonly AuditHead[] = []): AuditVerdict {
  let first: Chained | undefined;
  let last: Chained | undefined;
  let keptFrom = 1;
  let problem: string | null = null;
  const wanted = new Map(heads.map(({ count, hash }) => [count, hash]));
  const found = new Set<number>();
  for (const path of paths) {
    if (!existsSync(path)) continue;
    for (const text of readFileSync(path, 'utf8').split('\n')) {
      const line = parseAuditLine(text);
      if (line === null) continue;
      const { seq, prev } = line;
      if (seq === undefined || prev === undefined) {
        // Entries of versions without a chain are allowed only before the first entry of the chain.
        if (last !== undefined)
          problem ??= `An entry without a number (${line.time}, ${line.type}) stands after ${nameOf(last.line)}.`;
        continue;
      }
      const entry: Chained = { line: { ...line, seq, prev }, hash: hashOfLine(text) };
      if (last !== undefined && (seq !== last.line.seq + 1 || prev !== last.hash))
        problem ??=
          seq === last.line.seq + 1
            ? `${capital(nameOf(last.line))} was changed: ${nameOf(line)} does not fit it.`
            : `${capital(nameOf(line))} does not follow ${nameOf(last.line)}.`;
      if (line.keptFrom !== undefined) ({ keptFrom } = line);
      const hash = wanted.get(seq);
      if (hash !== undefined) {
        found.add(seq);
        if (hash !== entry.hash)
          problem ??= `${capital(nameOf(line))} is not the entry that was recorded under this number.`;
      }
      first ??= entry;
      last = entry;
    }
  }
  if (first !== undefined && first.line.seq !== keptFrom)
    problem ??= `The log begins with ${nameOf(first.line)}, and entries from ${keptFrom} on should be there.`;
  for (const { count } of heads)
    if (count > 0 && !found.has(count))
      problem ??=
        last === undefined || count > last.line.seq
          ? `Entries ${(last?.line.seq ?? 0) + 1} to ${count} are missing at the end of the log.`
          : `Entry ${count} is missing.`;
  return {
    ok: problem === null,
    problem,
    entries: first === undefined || last === undefined ? 0 : last.line.seq - first.line.seq + 1,
    head: last === undefined ? null : { count: last.line.seq, hash: last.hash },
  };
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
