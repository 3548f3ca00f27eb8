import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { AuditHead, AuditVerdict } from '../../shared/companion/state.ts';
import { hashOfLine, noHash, renameLog, restoreLog, verifyChain } from './audit-chain.ts';
import type { KnownHeads } from './audit-chain.ts';
import { parseAuditLine } from './audit-line.ts';
import type { AuditLine, RecordedPairing } from './audit-line.ts';
import { CompanionError, LogFileError, useLogFile } from './companion-error.ts';
import { linesFromEnd, linesFromStart, syncFolder } from './file-lines.ts';
import { entriesToKeep } from './kept-entries.ts';
import { openOwnFile } from './own-file.ts';

export type { AuditLine } from './audit-line.ts';

const maxBytes = 5 * 1024 * 1024;
/**
 * Frequent and harmless commands. Their successes have a separate log without a chain, so that they displace nothing.
 */
const quietTypes = new Set(['node.ping']);
const maxQuietBytes = 256 * 1024;
/** Largest share of quiet entries among the entries that `read` returns, when there are enough others. */
const quietShare = 0.2;
const maxNoteLength = 300;
/** Entries that wait in memory when the disk is full. */
const maxPending = 1_000;

const rotatedType = 'log.rotated';

const noHead: AuditHead = { count: 0, hash: noHash };

const isQuiet = ({ type, outcome }: AuditLine) => quietTypes.has(type) && outcome === 'succeeded';

/** The stamp of a log without files. */
const noFiles = '- -';

/** Identifies the current version of both files of a log. */
const stampOf = (log: string): string =>
  [log, `${log}.1`]
    .map((path) => {
      const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
      return facts === undefined ? '-' : `${facts.ino}:${facts.size}:${facts.mtimeNs}`;
    })
    .join(' ');

/**
 * The owner's log: JSON lines in two files, each entry with the hash of the entry before. An entry is on the disk when
 * `append` returns. Several processes may append one after the other; while a companion runs, only that companion does.
 * The owner's actions, and programs that ran, are kept when a rotation removes their file.
 */
export class AuditLog {
  readonly #path: string;
  readonly #onNote: (line: AuditLine) => void;
  /** The last entry, and the version of the file that this process wrote. */
  #tail: { head: AuditHead; stamp: string } | undefined;
  readonly #pending: AuditLine[] = [];
  #problem: string | null = null;
  /** Whether the log was compared with the hub's record of it. */
  #isAnchored = false;
  /**
   * The settings and the pairing that the log recorded last, as this process verified or wrote them. The files are not
   * enough, because another program can remove them.
   */
  #settings: string | undefined;
  #pairing: RecordedPairing | undefined;

  /** @param onNote Called with each entry about an action of the owner. */
  constructor(path: string, onNote: (line: AuditLine) => void = () => undefined) {
    this.#path = path;
    this.#onNote = onNote;
  }

  /** Number and hash of the last entry; 0 when the log cannot be read. */
  get head(): AuditHead {
    return this.#tail?.head ?? unlessBroken(() => this.#readHead()) ?? noHead;
  }

  /** Why the log cannot be trusted; null while no problem was found. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Number of entries that are not on the disk yet. */
  get pending(): number {
    return this.#pending.length;
  }

  /** SHA-256 of the settings that the log recorded last. Undefined when no entry has one. */
  get settingsHash(): string | undefined {
    return this.#settings ?? recordedSettingsHash(this.#path);
  }

  get #lastPairing(): RecordedPairing | undefined {
    return this.#pairing === undefined ? recordedPairing(this.#path) : this.#pairing;
  }

  /** Whether an entry has the field `pairing`. */
  get hasPairing(): boolean {
    for (const path of [this.#path, `${this.#path}.1`])
      for (const text of linesFromEnd(path))
        if (text.includes('"pairing"') && parseAuditLine(text)?.pairing !== undefined) return true;
    return false;
  }

  /** When the last entry was written, in milliseconds since 1970; 0 without one. */
  get lastAt(): number {
    const [last] = unlessBroken(() => newest(this.#path, 1)) ?? [];
    return last === undefined ? 0 : Date.parse(last.time) || 0;
  }

  /** Adds an entry. @throws the error of the file system. Nothing is added then. */
  append(line: AuditLine): void {
    if (isQuiet(line)) {
      if (existsSync(this.#quietPath) && statSync(this.#quietPath).size > maxQuietBytes)
        renameSync(this.#quietPath, `${this.#quietPath}.1`);
      this.#write(this.#quietPath, JSON.stringify(line), false);
      return;
    }
    this.flush();
    this.#appendChained(line);
  }

  /** Adds an entry now, or later if the disk is full. */
  appendLater(line: AuditLine): void {
    try {
      this.append(line);
    } catch {
      if (!isQuiet(line) && this.#pending.length < maxPending) this.#pending.push(line);
    }
  }

  /** Adds the waiting entries. @throws the error of the file system. */
  flush(): void {
    for (let [line] = this.#pending; line !== undefined; [line] = this.#pending) {
      this.#appendChained(line);
      this.#pending.shift();
    }
  }

  /** Records an action of the owner. A full disk delays the entry, not the action. */
  note(
    type:
      | `owner.${'change' | 'answer'}`
      | `settings.${'edited' | 'ended' | 'recorded'}`
      | 'control.replaced'
      | 'programs.left',
    summary: string,
    more: Partial<AuditLine> = {},
  ): void {
    const line = noteOf(type, summary, more);
    this.appendLater(line);
    this.#onNote(line);
  }

  /** The newest entries, oldest first. A command that ended has only the entry of its end. */
  read(limit: number): AuditLine[] {
    // A command has at most two entries.
    const lines = withoutStarts(newest(this.#path, 2 * limit)).slice(0, limit);
    const quiet = unlessBroken(() => newest(this.#quietPath, limit)) ?? [];
    const maxQuiet = Math.max(limit - lines.length, Math.floor(limit * quietShare));
    return [...lines, ...quiet.slice(0, maxQuiet)]
      .toSorted((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
      .slice(0, limit)
      .toReversed();
  }

  /** Checks the whole log against the last entry that this process wrote or verified. */
  verify(): AuditVerdict {
    return this.#verify();
  }

  /** @param hub The hub's record of the log. */
  #verify(hub?: AuditHead): AuditVerdict {
    const stamp = stampOf(this.#path);
    const verdict = this.#readChain({ own: this.#tail?.head, hub });
    this.#problem ??= verdict.problem;
    // The last entry proves all entries before it, also those that a rotation removed.
    if (this.#problem === null && verdict.head !== null) {
      this.#tail = { head: verdict.head, stamp };
      this.#settings = this.settingsHash;
      this.#pairing = this.#lastPairing;
    }
    return { ...verdict, ok: verdict.ok && this.#problem === null, problem: this.#problem };
  }

  /** Verifies the chain. A log that cannot be read proves nothing. */
  #readChain(heads: KnownHeads): AuditVerdict {
    try {
      return verifyChain(this.#path, heads);
    } catch (error) {
      if (!(error instanceof LogFileError)) throw error;
      return { ok: false, problem: error.message, entries: 0, head: null };
    }
  }

  /** Checks the log against the hub's record, once. Later records come from this process. */
  anchor(head: AuditHead | null): void {
    if (this.#isAnchored || head === null) return;
    this.#isAnchored = true;
    this.#verify(head);
  }

  /** Checks whether another program changed a file of the log since this process wrote to it. */
  checkForChanges(): void {
    if (this.#tail === undefined || stampOf(this.#path) === this.#tail.stamp) return;
    const stamp = stampOf(this.#path);
    // Entries that continue the chain were added by a program of the owner.
    if (!this.verify().ok) this.#tail.stamp = stamp;
  }

  /**
   * Renames the files of the log and starts a new log that continues the chain. The new log repeats settings and pairing
   * unless the only source is a log that is not intact, which another program may have written.
   *
   * @param waits Whether the first entry may wait in this process for free space. Otherwise the old log stays.
   * @throws CompanionError when the new log cannot be written and `waits` is false.
   */
  setAside({ waits }: { waits: boolean } = { waits: true }): void {
    const isTrusted = this.#tail !== undefined || this.verify().ok;
    const { count, hash } = this.head;
    const settings = isTrusted ? unlessBroken(() => this.settingsHash) : undefined;
    const pairing = isTrusted ? unlessBroken(() => this.#lastPairing) : undefined;
    const oldPath = renameLog(this.#path);
    this.#tail = { head: { count, hash }, stamp: noFiles };
    this.#problem = null;
    this.#isAnchored = false;
    const line = noteOf('log.set_aside', `set aside ${oldPath}`, {
      keptFrom: count + 1,
      ...(settings === undefined ? {} : { settings }),
      ...(pairing === undefined ? {} : { pairing }),
    });
    // The first entry of the new log proves the old log, so it precedes the entries that wait.
    this.#pending.unshift(line);
    try {
      this.flush();
    } catch (error) {
      if (!waits) {
        restoreLog(this.#path, oldPath);
        throw new CompanionError(
          `A new log can't be written (${(error as NodeJS.ErrnoException).code ?? 'error'}), so the old one was not set aside; free space on its disk, or fix the permissions of its folder.`,
          { cause: error },
        );
      }
    }
    this.#onNote(line);
  }

  get #quietPath(): string {
    return `${this.#path}.quiet`;
  }

  #appendChained(line: AuditLine): void {
    if (this.#tail === undefined) this.#tail = { head: this.#readHead(), stamp: stampOf(this.#path) };
    else this.checkForChanges();
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > maxBytes) this.#rotate(line.time);
    this.#chain(line);
  }

  /**
   * Begins a new file. The last entry of the old file has everything that the older file still proves and that must be
   * kept, so the log is intact at each moment. The older file is then replaced, in one step.
   * A log that is not intact stays as it is until the owner sets it aside: a rotation would remove what shows that the
   * log is not intact, and keep entries that another program may have written.
   */
  #rotate(time: string): void {
    if (this.#problem !== null || !this.verify().ok) return;
    const older = `${this.#path}.1`;
    // After a crash between both steps, the entry exists.
    if (lastOf(this.#path)?.type !== rotatedType) {
      const settings = this.settingsHash;
      const pairing = this.#lastPairing;
      const kept = entriesToKeep(older);
      this.#chain({
        time,
        commandId: randomUUID(),
        type: rotatedType,
        summary: 'began a new file',
        approvedBy: null,
        outcome: 'done',
        message: null,
        durationMs: 0,
        keptFrom: firstOf(this.#path) ?? this.head.count + 1,
        ...(settings === undefined ? {} : { settings }),
        ...(pairing === undefined ? {} : { pairing }),
        ...(kept.length === 0 ? {} : { kept }),
      });
    }
    renameSync(this.#path, older);
    if (this.#tail !== undefined) this.#tail.stamp = stampOf(this.#path);
  }

  #chain(line: AuditLine): void {
    const { count, hash } = this.head;
    const text = JSON.stringify({ seq: count + 1, prev: hash, ...line });
    this.#write(this.#path, text, true);
    this.#tail = { head: { count: count + 1, hash: hashOfLine(text) }, stamp: stampOf(this.#path) };
    this.#settings = line.settings ?? this.#settings;
    if (line.pairing !== undefined) this.#pairing = line.pairing;
  }

  /** Writes a line completely or not at all. Lines of the log with a chain are then on the disk. */
  #write(path: string, text: string, isChained: boolean): void {
    const open = () => openOwnFile(path, 'append');
    const handle = isChained ? useLogFile(path, open) : open();
    try {
      const { size } = fstatSync(handle);
      // This line must not continue a line that a crash cut off.
      const line = Buffer.from(`${endsWhole(handle, size) ? '' : '\n'}${text}\n`);
      try {
        // On a nearly full disk, a write may store a part of the bytes without an error.
        for (let done = 0; done < line.length;) done += writeSync(handle, line, done);
        if (isChained) fdatasyncSync(handle);
        if (isChained && size === 0) syncFolder(dirname(path));
      } catch (error) {
        ftruncateSync(handle, size);
        // This process changed the file, or created it empty.
        if (isChained && this.#tail !== undefined) this.#tail.stamp = stampOf(this.#path);
        throw error;
      }
    } finally {
      closeSync(handle);
    }
  }

  #readHead(): AuditHead {
    return (lastOf(this.#path) ?? lastOf(`${this.#path}.1`))?.head ?? noHead;
  }
}

/**
 * SHA-256 of the settings that a log recorded last, in hex. Undefined when no entry has one.
 * @throws the error of the file system when the log cannot be read.
 */
export function recordedSettingsHash(log: string): string | undefined {
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      const { settings } = parseAuditLine(text) ?? {};
      if (settings !== undefined) return settings;
    }
  return undefined;
}

/**
 * The pairing that a log recorded last. Undefined when no entry has one. Entries of earlier versions have the pairing
 * in their summary.
 * @throws the error of the file system when the log cannot be read.
 */
export function recordedPairing(log: string): RecordedPairing | undefined {
  let movedTo: string | undefined;
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      if (!text.includes('"pairing"') && !text.includes('"owner.change"')) continue;
      const { pairing, type, summary } = parseAuditLine(text) ?? {};
      if (pairing !== undefined) return pairing;
      if (type !== 'owner.change' || summary === undefined) continue;
      if (summary.startsWith('unpair from ')) return null;
      movedTo ??= /^hub set (\S+), in the place of /.exec(summary)?.[1];
      const [, hub, nodeId] = /^pair with (\S+) as node ([0-9a-f-]{36})(?:,|$)/.exec(summary) ?? [];
      if (hub !== undefined && nodeId !== undefined) return { hub: movedTo ?? hub, nodeId };
    }
  return undefined;
}

/** Removes the entries of starts whose ends are among these entries. */
function withoutStarts(lines: readonly AuditLine[]): AuditLine[] {
  const ended = new Set(lines.filter(({ phase }) => phase !== 'begun').map(({ commandId }) => commandId));
  return lines.filter(
    ({ type, phase, commandId }) => type !== rotatedType && !(phase === 'begun' && ended.has(commandId)),
  );
}

/** An entry about an action that the owner or the companion completed. */
const noteOf = (type: string, summary: string, more: Partial<AuditLine>): AuditLine => ({
  time: new Date().toISOString(),
  commandId: randomUUID(),
  type,
  summary: summary.slice(0, maxNoteLength),
  approvedBy: null,
  outcome: 'done',
  message: null,
  durationMs: 0,
  began: true,
  ...more,
});

/** The newest entries of a log, newest first. Entries that rotations kept come last. */
function newest(log: string, limit: number): AuditLine[] {
  const found: AuditLine[] = [];
  const older: AuditLine[] = [];
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      // A line that a crash cut off, or that another program wrote, is not an entry.
      const line = parseAuditLine(text);
      if (line === null) continue;
      const { kept = [], ...entry } = line;
      found.push(entry);
      older.push(...kept);
      if (found.length === limit) return found;
    }
  return [...found, ...older.toSorted((one, other) => (one.time < other.time ? 1 : -1))].slice(0, limit);
}

/** Returns undefined when a file of the log cannot be read. `verify` then reports the file. */
function unlessBroken<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof LogFileError) return undefined;
    throw error;
  }
}

/** The last entry of a file: its number, its hash and its type. */
function lastOf(path: string): { head: AuditHead; type: string } | undefined {
  for (const text of linesFromEnd(path)) {
    const { seq, type = '' } = parseAuditLine(text) ?? {};
    if (seq !== undefined) return { head: { count: seq, hash: hashOfLine(text) }, type };
  }
  return undefined;
}

/** Number of the first entry of a file. */
function firstOf(path: string): number | undefined {
  for (const text of linesFromStart(path)) {
    const { seq } = parseAuditLine(text) ?? {};
    if (seq !== undefined) return seq;
  }
  return undefined;
}

function endsWhole(handle: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size === 0 || (readSync(handle, last, 0, 1, size - 1) === 1 && last[0] === 0x0a);
}
