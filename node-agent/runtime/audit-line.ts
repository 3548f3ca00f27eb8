import { createHash } from 'node:crypto';
import { z } from 'zod';
import { commandOrigin } from '../../shared/commands/origin.ts';
import { endReasons } from '../../shared/companion/state.ts';
import { describeInput } from './describe-input.ts';

/** Longest script that an entry holds whole, in characters; its hash covers all of it. */
const maxScriptLength = 16_384;
const maxSummaryLength = 300;

/** One entry of the owner's log: a command that begins, a command that ended, or something that the owner did. */
export const auditLine = z.object({
  /** Position in the chain, from 1; entries of earlier versions and of the quiet log have none. */
  seq: z.int().min(1).optional(),
  /** SHA-256, in hex, of the text of the entry before. */
  prev: z.string().optional(),
  time: z.string(),
  commandId: z.string(),
  type: z.string(),
  /** `begun` is written before the command acts; an entry without a phase is the end. */
  phase: z.enum(['begun', 'ended']).optional(),
  /** The input, shortened; never text that was typed, read or sent. */
  summary: z.string(),
  /** The script of `browser.evaluate`, cut to 16,384 characters, with the SHA-256 of the whole script. */
  script: z.object({ text: z.string(), characters: z.int(), sha256: z.string() }).optional(),
  approvedBy: z.string().nullable(),
  /** Workspace, workflow, run, starter, approver and reason; null when the hub states none. */
  origin: commandOrigin.nullable().optional().catch(null),
  outcome: z.string(),
  message: z.string().nullable(),
  /** What the outcome does not tell; earlier versions did not note it. */
  reason: z.enum(endReasons).nullable().optional().catch(null),
  durationMs: z.number(),
  /** Whether it had begun when it ended; earlier versions did not note it. */
  began: z.boolean().optional(),
  /** SHA-256, in hex, of the settings that are in force after this entry; `log.rotated` and `log.set_aside` repeat the last one. */
  settings: z.string().optional(),
  /** The pairing after this entry, null without one; `log.rotated` and `log.set_aside` repeat the last one. Earlier versions have it in the summary only. */
  pairing: z.object({ hub: z.string(), nodeId: z.string() }).nullable().optional(),
  /** With `log.rotated` and `log.set_aside`: the oldest entry that is kept. */
  keptFrom: z.int().min(1).optional(),
});
export type AuditLine = z.output<typeof auditLine>;
/** How a machine is paired, as the log records it; null when it is not paired. */
export type RecordedPairing = NonNullable<AuditLine['pairing']> | null;

/** The part of an entry that is the same at the beginning and at the end of a command. */
export const commandFacts = auditLine.pick({ summary: true, script: true, approvedBy: true, origin: true });
export type CommandFacts = z.output<typeof commandFacts>;

/** Parses one line of a log; null when it is no entry, such as a line that a crash cut off. */
export function parseAuditLine(text: string): AuditLine | null {
  try {
    return auditLine.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Describes an input in plain words, without text that may be secret. */
export function summarise(type: string, input: Record<string, unknown>): string {
  const text = describeInput(type, input);
  return text.length > maxSummaryLength ? `${text.slice(0, maxSummaryLength)}…` : text;
}

/** The script that a command runs in a page, as its entry holds it; undefined for other commands. */
export function scriptOf(type: string, { expression }: Record<string, unknown>): AuditLine['script'] {
  if (type !== 'browser.evaluate' || typeof expression !== 'string') return undefined;
  return {
    text: expression.slice(0, maxScriptLength).toWellFormed(),
    characters: expression.length,
    sha256: createHash('sha256').update(expression).digest('hex'),
  };
}
