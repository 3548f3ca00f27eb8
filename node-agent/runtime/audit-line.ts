import { createHash } from 'node:crypto';
import { z } from 'zod';
import { commandOrigin } from '../../shared/commands/origin.ts';
import { endReasons } from '../../shared/companion/state.ts';
import { describeInput } from './describe-input.ts';

/** Bytes of a script that an entry records, from its start and from its end. The hash covers the whole script. */
const scriptBytes = { beginning: 3_072, end: 1_024 };
const maxSummaryLength = 300;
const maxSummaryBytes = 600;
const maxMessageBytes = 2_048;

/** One entry of the owner's log: the start of a command, the end of a command, or an action of the owner. */
const plainLine = z.object({
  /** Position in the chain, from 1. Absent in entries of earlier versions and in the separate log of successful pings. */
  seq: z.int().min(1).optional(),
  /** SHA-256, in hex, of the text of the entry before. */
  prev: z.string().optional(),
  time: z.string(),
  commandId: z.string(),
  type: z.string(),
  /** `begun` is written before the command acts. An entry without a phase records the end. */
  phase: z.enum(['begun', 'ended']).optional(),
  /** The input, shortened. It never contains text that was typed, read or sent. */
  summary: z.string(),
  /** The script of `browser.evaluate`. A long one is cut in the middle. `text` is empty in the entry of the start. */
  script: z.object({ text: z.string(), characters: z.int(), sha256: z.string() }).optional(),
  approvedBy: z.string().nullable(),
  /** Workspace, workflow, run, starter, approver and reason. Null when the hub sends none. */
  origin: commandOrigin.nullable().optional().catch(null),
  outcome: z.string(),
  message: z.string().nullable(),
  /** Detail that the outcome code does not contain. Absent in entries of earlier versions. */
  reason: z.enum(endReasons).nullable().optional().catch(null),
  durationMs: z.number(),
  /** Whether the command had started. Absent in entries of earlier versions. */
  began: z.boolean().optional(),
  /**
   * SHA-256, in hex, of the settings in force after this entry. `log.rotated` and `log.set_aside` repeat the last one.
   */
  settings: z.string().optional(),
  /**
   * The pairing after this entry; null when the machine is not paired. `log.rotated` and `log.set_aside` repeat the
   * last one. Earlier versions record the pairing only in the summary.
   */
  pairing: z.object({ hub: z.string(), nodeId: z.string() }).nullable().optional(),
  /** With `log.rotated` and `log.set_aside`: the oldest entry that is kept. */
  keptFrom: z.int().min(1).optional(),
});
export const auditLine = plainLine.extend({
  /** With `log.rotated`: the owner's actions and the programs that ran, from the file that the rotation removed. */
  kept: z.array(plainLine).optional(),
});
export type AuditLine = z.output<typeof auditLine>;
/** How a machine is paired, as the log records it; null when it is not paired. */
export type RecordedPairing = NonNullable<AuditLine['pairing']> | null;

/** The fields that are the same in the entries of a command's start and end. */
export const commandFacts = auditLine.pick({ summary: true, script: true, approvedBy: true, origin: true });
export type CommandFacts = z.output<typeof commandFacts>;

/** Parses one line of a log. Returns null when the line is not an entry, such as a line that a crash cut off. */
export function parseAuditLine(text: string): AuditLine | null {
  try {
    return auditLine.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The start or the end of a text, limited to `bytes` bytes of JSON, in which a control character takes six bytes. */
function cut(text: string, bytes: number, part: 'beginning' | 'end' = 'beginning'): string {
  const characters = part === 'end' ? [...text].toReversed() : [...text];
  let usedBytes = 0;
  const count = characters.findIndex((character) => {
    usedBytes += Buffer.byteLength(JSON.stringify(character)) - 2;
    return usedBytes > bytes;
  });
  if (count === -1) return text;
  const kept = characters.slice(0, count);
  return (part === 'end' ? kept.toReversed() : kept).join('');
}

const shortened = (text: string, bytes: number): string => {
  const kept = cut(text, bytes);
  return kept === text ? text : `${kept}…`;
};

/** Describes a command's input in plain words, without text that may be secret. */
export function summarise(type: string, input: Record<string, unknown>): string {
  const text = describeInput(type, input);
  return shortened(
    text.length > maxSummaryLength ? `${text.slice(0, maxSummaryLength)}…` : text,
    maxSummaryBytes,
  ).toWellFormed();
}

/** Shortens a command's message for its entry. */
export const shortenMessage = (message: string): string => shortened(message, maxMessageBytes);

/** The script that a command runs in a page, in the form that its entry records. Undefined for other commands. */
export function scriptOf(type: string, { expression }: Record<string, unknown>): AuditLine['script'] {
  if (type !== 'browser.evaluate' || typeof expression !== 'string') return undefined;
  const beginning = cut(expression, scriptBytes.beginning + scriptBytes.end);
  const isWhole = beginning === expression;
  const [first, last] = [cut(expression, scriptBytes.beginning), cut(expression, scriptBytes.end, 'end')];
  const leftOut = expression.length - first.length - last.length;
  return {
    text: (isWhole ? expression : `${first}\n… ${leftOut} characters …\n${last}`).toWellFormed(),
    characters: expression.length,
    sha256: createHash('sha256').update(expression).digest('hex'),
  };
}
