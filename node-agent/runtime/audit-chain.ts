import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { AuditHead, AuditVerdict } from '../../shared/companion/state.ts';
import { parseAuditLine } from './audit-line.ts';
import type { AuditLine } from './audit-line.ts';
import { LogFileError } from './companion-error.ts';
import { linesFromEnd, linesFromStart } from './file-lines.ts';

/** The hash by which the next entry refers to this one: SHA-256, in hex, of the entry's text without the line end. */
export const hashOfLine = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `prev` of the first entry of a log. */
export const noHash = '0'.repeat(64);

const nameOf = ({ seq, time, type }: AuditLine) => `entry ${seq} (${time}, ${type})`;

interface Chained {
  line: AuditLine & { seq: number; prev: string };
  hash: string;
}

/** The files of a log, oldest first. */
const filesOf = (log: string) => [`${log}.1`, log];

/** Renames the files of a log. @returns the new path of its newer file. */
export function renameLog(log: string): string {
  const suffix = `.broken-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const path of filesOf(log)) if (exists(path)) renameSync(path, path + suffix);
  return log + suffix;
}

/** Undoes `renameLog`. @param renamed What it returned. */
export function restoreLog(log: string, renamed: string): void {
  const suffix = renamed.slice(log.length);
  rmSync(log, { force: true });
  for (const path of filesOf(log)) if (exists(path + suffix)) renameSync(path + suffix, path);
}

/** Whether anything has this path, also a link that leads nowhere. */
const exists = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** Earlier heads of a log, which it must still contain. */
export interface KnownHeads {
  /** The last entry that this process wrote or verified. */
  own?: AuditHead | undefined;
  /** The hub's record. The hub may not know yet that the owner set the log aside since. */
  hub?: AuditHead | undefined;
}

/**
 * Checks the files of a log, oldest first: each entry must hold the number and the hash of the entry before.
 * Lines that are not entries are ignored, because a crash in the middle of a write leaves one. Such a line cannot hide
 * a removed entry: the next entry holds the hash of the entry before.
 * @throws LogFileError when a file cannot be read.
 */
export function verifyChain(log: string, { own, hub }: KnownHeads = {}): AuditVerdict {
  const heads = [own, hub].filter((head) => head !== undefined);
  let first: Chained | undefined;
  let last: Chained | undefined;
  let keptFrom = 1;
  let problem: string | null = null;
  const wanted = new Map(heads.map(({ count, hash }) => [count, hash]));
  const found = new Set<number>();
  for (const path of filesOf(log)) {
    for (const text of linesFromStart(path)) {
      const line = parseAuditLine(text);
      if (line === null) continue;
      const { seq, prev } = line;
      if (seq === undefined || prev === undefined) {
        // Entries of versions without a chain are allowed only before the first entry of the chain.
        if (last !== undefined)
          problem ??= `An entry without a number (${line.time}, ${line.type}) follows ${nameOf(last.line)}.`;
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
  // After a crash in the middle of a rotation, there are more entries than the rotation keeps.
  if (first !== undefined && first.line.seq > keptFrom)
    problem ??= `The log begins with ${nameOf(first.line)}, and entries from ${keptFrom} on should be there.`;
  for (const head of heads) {
    const { count } = head;
    if (count > 0 && !found.has(count) && !(head === hub && first !== undefined && wasSetAside(head, log, first.line)))
      problem ??=
        last === undefined || count > last.line.seq
          ? `Entries ${(last?.line.seq ?? 0) + 1} to ${count} are missing at the end of the log.`
          : `Entry ${count} is missing.`;
  }
  return {
    ok: problem === null,
    problem,
    entries: first === undefined || last === undefined ? 0 : last.line.seq - first.line.seq + 1,
    head: last === undefined ? null : { count: last.line.seq, hash: last.hash },
  };
}

/**
 * Whether the owner set a log aside that had this head: the hashes lead from the first entry of the new log back to the
 * head. A hash proves an entry wherever it is stored, so nothing else in the files must be intact.
 */
function wasSetAside(head: AuditHead, log: string, { type, seq, prev }: Chained['line']): boolean {
  if (type !== 'log.set_aside') return false;
  let last = { count: seq - 1, hash: prev };
  const isHead = () => last.count === head.count && last.hash === head.hash;
  for (const path of setAsideFiles(log)) {
    try {
      for (const text of linesFromEnd(path)) {
        if (last.count <= head.count) return isHead();
        if (hashOfLine(text) !== last.hash) continue;
        const line = parseAuditLine(text);
        if (line?.prev === undefined) return false;
        last = { count: last.count - 1, hash: line.prev };
      }
    } catch (error) {
      // It may have been set aside because it cannot be read.
      if (!(error instanceof LogFileError)) throw error;
    }
  }
  return isHead();
}

/** The files that `renameLog` renamed, newest entries first. */
function setAsideFiles(log: string): string[] {
  const sortKey = (name: string) => name.slice(name.indexOf('.broken-')) + name;
  return readdirSync(dirname(log), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.startsWith(basename(log)) && entry.name.includes('.broken-'))
    .map(({ name }) => name)
    .toSorted((one, other) => (sortKey(one) < sortKey(other) ? 1 : -1))
    .map((name) => join(dirname(log), name));
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
