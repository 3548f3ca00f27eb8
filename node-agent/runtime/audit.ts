import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { AuditHead, AuditVerdict } from '../../shared/companion/state.ts';
import { hashOfLine, noHash, verifyChain } from './audit-chain.ts';
import { parseAuditLine } from './audit-line.ts';
import type { AuditLine, RecordedPairing } from './audit-line.ts';
import { linesFromEnd, syncFolder } from './file-lines.ts';
import { entriesToKeep } from './kept-entries.ts';

export type { AuditLine } from './audit-line.ts';

const maxBytes = 5 * 1024 * 1024;
/** A successful ping neither acts nor reads, and may come every second: it has a log of its own, without a chain, so that it pushes nothing else out. */
const quietTypes = new Set(['node.ping']);
const maxQuietBytes = 256 * 1024;
/** Of the lines that are read, these at most are quiet ones where there are others. */
const quietShare = 0.2;
const maxNoteLength = 300;
/** Entries that wait in memory until the disk takes them. */
const maxPending = 1_000;

const isQuiet = ({ type, outcome }: AuditLine) => quietTypes.has(type) && outcome === 'succeeded';

/** What tells one state of a file from another. */
const stampOf = (path: string): string => {
  const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
  return facts === undefined ? '' : `${facts.ino}:${facts.size}:${facts.mtimeNs}`;
};

/**
 * The owner's log: lines of JSON in two files, each entry on the disk when `append` returns, each with the hash of the entry before. Several processes may append
 * one after the other; while a companion runs, only that companion does. What the owner did, and programs that ran, outlast the file that a rotation removes.
 */
export class AuditLog {
  readonly #path: string;
  readonly #onNote: (line: AuditLine) => void;
  /** The last entry, and the file as this process left it. */
  #tail: { head: AuditHead; stamp: string } | undefined;
  readonly #pending: AuditLine[] = [];
  #problem: string | null = null;
  /** Whether the log was compared with the hub's record of it. */
  #isAnchored = false;
  /** The settings and the pairing that the log recorded last, as this process verified or wrote them: another program can remove the files. */
  #settings: string | undefined;
  #pairing: RecordedPairing | undefined;
  /** What the file that a rotation removed had to keep, until the new file has it. */
  #kept: AuditLine[] = [];

  /** @param onNote Called with each entry about something that the owner did. */
  constructor(path: string, onNote: (line: AuditLine) => void = () => undefined) {
    this.#path = path;
    this.#onNote = onNote;
  }

  /** Number and hash of the last entry. */
  get head(): AuditHead {
    return this.#tail?.head ?? this.#readHead();
  }

  /** Why the log can not be trusted any more; null while nothing speaks against it. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Entries that the disk has not taken yet. */
  get pending(): number {
    return this.#pending.length;
  }

  /** SHA-256 of the settings that the log recorded last; undefined when no entry has one. */
  get settingsHash(): string | undefined {
    return this.#settings ?? recordedSettingsHash(this.#path);
  }

  get #lastPairing(): RecordedPairing | undefined {
    return this.#pairing === undefined ? recordedPairing(this.#path) : this.#pairing;
  }

  /** Whether an entry of the newer file has the pairing in its own field. */
  get hasPairing(): boolean {
    for (const text of linesFromEnd(this.#path))
      if (text.includes('"pairing"') && parseAuditLine(text)?.pairing !== undefined) return true;
    return false;
  }

  /** When the last entry was written, in milliseconds since 1970; 0 without one. */
  get lastAt(): number {
    const [last] = newest(this.#path, 1);
    return last === undefined ? 0 : Date.parse(last.time) || 0;
  }

  /** Adds an entry. @throws the error of the file system; nothing is added then. */
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

  /** Adds an entry now, or, where the disk does not take it, as soon as it does. */
  appendLater(line: AuditLine): void {
    try {
      this.append(line);
    } catch {
      if (!isQuiet(line) && this.#pending.length < maxPending) this.#pending.push(line);
    }
  }

  /** Adds the entries that wait. @throws the error of the file system. */
  flush(): void {
    for (let [line] = this.#pending; line !== undefined; [line] = this.#pending) {
      this.#appendChained(line);
      this.#pending.shift();
    }
  }

  /** Notes what the owner did; a disk that is full delays the note, not what they did. */
  note(
    type:
      | `owner.${'change' | 'answer'}`
      | `settings.${'edited' | 'ended' | 'recorded'}`
      | 'log.set_aside'
      | 'control.replaced',
    summary: string,
    more: Partial<AuditLine> = {},
  ): void {
    const line: AuditLine = {
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
    };
    this.appendLater(line);
    this.#onNote(line);
  }

  /** The newest lines, oldest of them first; of a command that ended, the end alone. */
  read(limit: number): AuditLine[] {
    // A command has two lines at most.
    const lines = withoutBegun(newest(this.#path, 2 * limit)).slice(0, limit);
    const quiet = newest(this.#quietPath, limit);
    const room = Math.max(limit - lines.length, Math.floor(limit * quietShare));
    return [...lines, ...quiet.slice(0, room)]
      .toSorted((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
      .slice(0, limit)
      .toReversed();
  }

  /** Checks the whole log against the last entry that this process wrote or verified. */
  verify(): AuditVerdict {
    return this.#verify(null);
  }

  /** @param hubHead What the hub recorded of the log. */
  #verify(hubHead: AuditHead | null): AuditVerdict {
    const stamp = stampOf(this.#path);
    const heads = [this.#tail?.head ?? null, hubHead].filter((head) => head !== null);
    const verdict = verifyChain([`${this.#path}.1`, this.#path], heads);
    this.#problem ??= verdict.problem;
    // The last entry proves all entries before it, also those that rotations remove.
    if (this.#problem === null && verdict.head !== null) {
      this.#tail = { head: verdict.head, stamp };
      this.#settings = this.settingsHash;
      this.#pairing = this.#lastPairing;
    }
    return { ...verdict, ok: verdict.ok && this.#problem === null, problem: this.#problem };
  }

  /** Checks the log against the head that the hub has of it, once: later heads are reported by this process. */
  anchor(head: AuditHead | null): void {
    if (this.#isAnchored || head === null) return;
    this.#isAnchored = true;
    this.#verify(head);
  }

  /** Looks whether another program changed the file since this process wrote to it. */
  look(): void {
    if (this.#tail === undefined || stampOf(this.#path) === this.#tail.stamp) return;
    const stamp = stampOf(this.#path);
    // Entries that follow the last one properly were added by a program of the owner's.
    if (!this.verify().ok) this.#tail.stamp = stamp;
  }

  /** Begins a new log beside the files that were set aside. @returns where those are. */
  setAside(): string {
    const { count, hash } = this.head;
    const settings = this.settingsHash;
    const pairing = this.#lastPairing;
    const suffix = `broken-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    for (const path of [`${this.#path}.1`, this.#path]) if (existsSync(path)) renameSync(path, `${path}.${suffix}`);
    this.#tail = { head: { count, hash }, stamp: '' };
    this.#problem = null;
    this.#isAnchored = false;
    this.note('log.set_aside', `set aside ${this.#path}.${suffix}`, {
      keptFrom: count + 1,
      ...(settings === undefined ? {} : { settings }),
      ...(pairing === undefined ? {} : { pairing }),
    });
    return `${this.#path}.${suffix}`;
  }

  get #quietPath(): string {
    return `${this.#path}.quiet`;
  }

  #appendChained(line: AuditLine): void {
    if (this.#tail === undefined) this.#tail = { head: this.#readHead(), stamp: stampOf(this.#path) };
    else this.look();
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > maxBytes) {
      this.#kept = entriesToKeep(`${this.#path}.1`);
      renameSync(this.#path, `${this.#path}.1`);
    }
    // A crash may have come right after the file was renamed.
    const oldest = size === 0 || size > maxBytes ? firstOf(`${this.#path}.1`) : undefined;
    if (oldest !== undefined) {
      // The next rotation removes the older file, and with it the entry that has the hash.
      const settings = this.settingsHash;
      const pairing = this.#lastPairing;
      this.#chain({
        time: line.time,
        commandId: randomUUID(),
        type: 'log.rotated',
        summary: 'began a new file',
        approvedBy: null,
        outcome: 'done',
        message: null,
        durationMs: 0,
        keptFrom: oldest,
        ...(settings === undefined ? {} : { settings }),
        ...(pairing === undefined ? {} : { pairing }),
        ...(this.#kept.length === 0 ? {} : { kept: this.#kept }),
      });
      this.#kept = [];
    }
    this.#chain(line);
  }

  #chain(line: AuditLine): void {
    const { count, hash } = this.head;
    const text = JSON.stringify({ seq: count + 1, prev: hash, ...line });
    this.#write(this.#path, text, true);
    this.#tail = { head: { count: count + 1, hash: hashOfLine(text) }, stamp: stampOf(this.#path) };
    this.#settings = line.settings ?? this.#settings;
    if (line.pairing !== undefined) this.#pairing = line.pairing;
  }

  /** Writes a line whole or not at all; the lines of a log with a chain are on the disk then. */
  #write(path: string, text: string, isChained: boolean): void {
    const handle = openSync(path, 'a+', 0o600);
    try {
      const { size } = fstatSync(handle);
      // A line that a crash cut off must not swallow this one.
      const line = Buffer.from(`${endsWhole(handle, size) ? '' : '\n'}${text}\n`);
      try {
        // On a disk that is all but full one write takes a part of it, and reports no error.
        for (let done = 0; done < line.length;) done += writeSync(handle, line, done);
        if (isChained) fdatasyncSync(handle);
        if (isChained && size === 0) syncFolder(dirname(path));
      } catch (error) {
        ftruncateSync(handle, size);
        throw error;
      }
    } finally {
      closeSync(handle);
    }
  }

  #readHead(): AuditHead {
    for (const path of [this.#path, `${this.#path}.1`])
      for (const text of linesFromEnd(path)) {
        const { seq } = parseAuditLine(text) ?? {};
        if (seq !== undefined) return { count: seq, hash: hashOfLine(text) };
      }
    return { count: 0, hash: noHash };
  }
}

/** SHA-256 of the settings that a log recorded last, in hex; undefined when no entry has one. @throws the error of the file system when the log cannot be read. */
export function recordedSettingsHash(log: string): string | undefined {
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      const { settings } = parseAuditLine(text) ?? {};
      if (settings !== undefined) return settings;
    }
  return undefined;
}

/**
 * The pairing that a log recorded last; undefined when no entry has one. Entries of versions without the field have it in their summary.
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

/** Without the beginnings of commands whose ends are among these lines. */
function withoutBegun(lines: readonly AuditLine[]): AuditLine[] {
  const ended = new Set(lines.filter(({ phase }) => phase !== 'begun').map(({ commandId }) => commandId));
  return lines.filter(
    ({ type, phase, commandId }) => type !== 'log.rotated' && !(phase === 'begun' && ended.has(commandId)),
  );
}

/** The newest lines of a log, the newest first; those that rotations kept come last. */
function newest(log: string, limit: number): AuditLine[] {
  const found: AuditLine[] = [];
  const older: AuditLine[] = [];
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      // A line that a crash cut off, or that another program wrote, is no entry.
      const line = parseAuditLine(text);
      if (line === null) continue;
      const { kept = [], ...entry } = line;
      found.push(entry);
      older.push(...kept);
      if (found.length === limit) return found;
    }
  return [...found, ...older.toSorted((one, other) => (one.time < other.time ? 1 : -1))].slice(0, limit);
}

/** Number of the first entry of a file. */
function firstOf(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    const { seq } = parseAuditLine(text) ?? {};
    if (seq !== undefined) return seq;
  }
  return undefined;
}

function endsWhole(handle: number, size: number): boolean {
  const last = Buffer.alloc(1);
  return size === 0 || (readSync(handle, last, 0, 1, size - 1) === 1 && last[0] === 0x0a);
}
