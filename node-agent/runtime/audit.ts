import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import { z } from 'zod';

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
  durationMs: z.number(),
});
export type AuditLine = z.output<typeof auditLine>;

const maxBytes = 5 * 1024 * 1024;
const maxSummaryLength = 300;

/** Fields that may hold a secret or a person's text: only their length is noted. */
const privateFields = new Set(['stdin', 'text', 'expression', 'env']);

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

  constructor(path: string) {
    this.#path = path;
  }

  append(line: AuditLine): void {
    if (existsSync(this.#path) && statSync(this.#path).size > maxBytes) renameSync(this.#path, `${this.#path}.1`);
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }

  /** The newest lines, oldest of them first. */
  read(limit: number): AuditLine[] {
    const lines = [`${this.#path}.1`, this.#path].flatMap((path) =>
      existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [],
    );
    // A line that a crash cut off, or that somebody else wrote, is no line.
    return lines.flatMap((line) => parseLine(line) ?? []).slice(-limit);
  }
}

function parseLine(text: string): AuditLine | null {
  try {
    return auditLine.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
