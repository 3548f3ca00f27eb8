import { randomUUID } from 'node:crypto';
import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { z } from 'zod';
import { endReasons } from '../../shared/companion/state.ts';

/** One command and what became of it, as the owner of the machine reads it. */
const auditLine = z.object({
  time: z.string(),
  commandId: z.string(),
  type: z.string(),
  /** What was asked for, shortened; never what was typed, read or sent. */
  summary: z.string(),
  approvedBy: z.string().nullable(),
  outcome: z.string(),
  message: z.string().nullable(),
  /** What the outcome does not tell; earlier versions did not note it. */
  reason: z.enum(endReasons).nullable().optional().catch(null),
  durationMs: z.number(),
  /** Whether it had begun when it ended; earlier versions did not note it. */
  began: z.boolean().optional(),
});
export type AuditLine = z.output<typeof auditLine>;

const maxBytes = 5 * 1024 * 1024;
/** What only asks whether this machine is there may come every second: it has a log of its own, so that it pushes nothing else out. */
const quietTypes = new Set(['node.ping']);
const maxQuietBytes = 256 * 1024;
/** Of the lines that are read, these at most are quiet ones where there are others. */
const quietShare = 0.2;
const maxSummaryLength = 300;

/** Fields that may hold a secret or a person's text: only their length is noted. */
const privateFields = new Set(['stdin', 'text', 'promptText', 'expression', 'env']);

/** Describes an input without what may be secret in it. */
export function summarise(input: Record<string, unknown>): string {
  const shown = Object.entries(input).map(([name, value]) => {
    if (name === 'env' && typeof value === 'object' && value !== null) return `env=${Object.keys(value).join(',')}`;
    if (privateFields.has(name)) return `${name}=(${String(value).length} characters)`;
    return `${name}=${typeof value === 'string' ? withoutCredentials(value) : JSON.stringify(value)}`;
  });
  const text = shown.join(' ');
  return text.length > maxSummaryLength ? `${text.slice(0, maxSummaryLength)}…` : text;
}

function withoutCredentials(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.username = '';
  url.password = '';
  if (url.search !== '') url.search = '?…';
  return url.toString();
}

/** The owner's log of every command: lines of JSON, of which two files are kept. */
export class AuditLog {
  readonly #path: string;
  readonly #onNote: (line: AuditLine) => void;

  /** @param onNote hears what was noted of the owner's doings. */
  constructor(path: string, onNote: (line: AuditLine) => void = () => undefined) {
    this.#path = path;
    this.#onNote = onNote;
  }

  append(line: AuditLine): void {
    const isQuiet = quietTypes.has(line.type) && line.outcome === 'succeeded';
    const path = isQuiet ? this.#quietPath : this.#path;
    const most = isQuiet ? maxQuietBytes : maxBytes;
    if (existsSync(path) && statSync(path).size > most) renameSync(path, `${path}.1`);
    // A line that a crash cut off must not swallow this one.
    appendFileSync(path, `${endsWhole(path) ? '' : '\n'}${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  /** Notes what the owner did; never in the way of it. */
  note(type: 'owner.change' | 'owner.answer', summary: string): void {
    const line: AuditLine = {
      time: new Date().toISOString(),
      commandId: randomUUID(),
      type,
      summary: summary.slice(0, maxSummaryLength),
      approvedBy: null,
      outcome: 'done',
      message: null,
      durationMs: 0,
      began: true,
    };
    try {
      this.append(line);
    } catch {
      // A disk that is full loses the note, not the change.
    }
    this.#onNote(line);
  }

  /** The newest lines, oldest of them first; reads no more of the files than it takes. */
  read(limit: number): AuditLine[] {
    const lines = newest(this.#path, limit);
    const quiet = newest(this.#quietPath, limit);
    const room = Math.max(limit - lines.length, Math.floor(limit * quietShare));
    return [...lines, ...quiet.slice(0, room)]
      .toSorted((one, other) => (one.time < other.time ? 1 : one.time > other.time ? -1 : 0))
      .slice(0, limit)
      .toReversed();
  }

  get #quietPath(): string {
    return `${this.#path}.quiet`;
  }
}

/** The newest lines of a log, the newest first. */
function newest(log: string, limit: number): AuditLine[] {
  const found: AuditLine[] = [];
  for (const path of [log, `${log}.1`])
    for (const text of linesFromEnd(path)) {
      // A line that a crash cut off, or that somebody else wrote, is no line.
      const line = parseLine(text);
      if (line !== null) found.push(line);
      if (found.length === limit) return found;
    }
  return found;
}

const pieceBytes = 64 * 1024;

/** The lines of a file, the last one first. */
function* linesFromEnd(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const handle = openSync(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    for (let end = fstatSync(handle).size; end > 0;) {
      const start = Math.max(0, end - pieceBytes);
      const piece = Buffer.alloc(end - start);
      readSync(handle, piece, 0, piece.length, start);
      end = start;
      const whole = Buffer.concat([piece, rest]);
      const first = start === 0 ? 0 : whole.indexOf(0x0a) + 1;
      rest = whole.subarray(0, start === 0 ? 0 : Math.max(first, 0));
      if (start > 0 && first === 0) {
        rest = whole;
        continue;
      }
      yield* whole.subarray(first).toString('utf8').split('\n').toReversed();
    }
  } finally {
    closeSync(handle);
  }
}

function endsWhole(path: string): boolean {
  if (!existsSync(path)) return true;
  const handle = openSync(path, 'r');
  try {
    const { size } = fstatSync(handle);
    const last = Buffer.alloc(1);
    return size === 0 || (readSync(handle, last, 0, 1, size - 1) === 1 && last[0] === 0x0a);
  } finally {
    closeSync(handle);
  }
}

function parseLine(text: string): AuditLine | null {
  try {
    return auditLine.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
