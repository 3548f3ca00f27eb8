import { z } from 'zod';
import { callDirections, callProviders, callResults } from '../../../../shared/contract/calls/records.ts';
import type { CallRecord, Carrier } from '../../../../shared/contract/calls/records.ts';
import { instant, text } from '../../../../shared/contract/common.ts';
import { AppError } from '../../../../shared/errors.ts';
import { callTimeRule, fromCell, isCallTime, ranks, readCsv } from '../records/index.ts';
import type { CallEvent, Calls } from '../records/index.ts';

/** Result of an import. */
export interface ImportOutcome {
  /** Lines with an ended call. */
  read: number;
  /** Records that are new or changed. */
  changed: number;
  /** Lines with a call that has not ended. Its carrier reports the end later. */
  skipped: number;
  /** Lines with a call older than the retention period. */
  old: number;
  refused: number;
  /** The first rejected lines, with reasons. */
  problems: { line: number; message: string }[];
}

/** Accepts an empty cell or a missing column as null. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((cell) => cell || null, schema.nullable()).default(null);
const time = instant.transform((value) => new Date(value)).refine((at) => isCallTime(at.getTime()), callTimeRule);
const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(least).max(most));

/** Columns of an exported line. Other columns are ignored. */
const lineSchema = z.object({
  provider: z.enum(callProviders, `must be one of ${callProviders.join(', ')}`),
  callSid: text(1, 255),
  state: z.string().default('ended'),
  direction: optional(z.enum(callDirections, `must be one of ${callDirections.join(', ')}`)),
  fromId: optional(text(1, 200)),
  toId: optional(text(1, 200)),
  result: z.enum(callResults, `must be one of ${callResults.join(', ')}`),
  reason: optional(text(1, 200)),
  startedAt: time,
  answeredAt: optional(time),
  endedAt: time,
  durationSecs: optional(whole(0, 100_000_000)),
  hangupBy: optional(z.enum(['caller', 'callee'], 'must be caller or callee')),
  sipCode: optional(whole(100, 699)),
  mosScore: optional(
    z.coerce.number('must be a number from 1 to 5').min(1, 'must be from 1 to 5').max(5, 'must be from 1 to 5'),
  ),
});
type Line = z.output<typeof lineSchema>;
const required = ['callSid', 'direction', 'result', 'startedAt', 'endedAt'];

const batch = 500;
const maxReportedProblems = 20;

/**
 * Imports calls from a CSV in the format of the export, by column name.
 * Importing the same file again changes nothing. A rejected line does not affect other lines.
 * @param provider default for lines without a provider.
 * @throws AppError `validation_failed` for a file that is not CSV or lacks columns.
 */
export async function importCsv(
  calls: Calls,
  tenantId: string,
  pieces: AsyncIterable<string>,
  provider: Carrier | null,
): Promise<ImportOutcome> {
  const outcome: ImportOutcome = { read: 0, changed: 0, skipped: 0, old: 0, refused: 0, problems: [] };
  let columns: string[] | null = null;
  let lines: Line[] = [];
  const write = async () => {
    const stored = new Map((await calls.findBySid(tenantId, lines)).map((record) => [keyOf(record), record]));
    const changed = lines.filter((line) => addsInformation(line, stored.get(keyOf(line))));
    if (changed.length > 0) outcome.changed += await calls.mergeAll(tenantId, changed.map(eventOf));
    lines = [];
  };
  try {
    for await (const { line, cells } of readCsv(pieces)) {
      if (columns === null) {
        columns = cells.map((cell) => cell.trim());
        assertColumns(columns, provider);
        continue;
      }
      const given = Object.fromEntries(columns.map((name, index) => [name, fromCell(cells[index] ?? '')]));
      if (given['state'] !== undefined && given['state'] !== '' && given['state'] !== 'ended') {
        outcome.skipped += 1;
        continue;
      }
      const parsed = lineSchema.safeParse({ ...given, provider: given['provider'] || provider });
      if (!parsed.success) {
        outcome.refused += 1;
        const issue = parsed.error.issues[0];
        if (outcome.problems.length < maxReportedProblems)
          outcome.problems.push({ line, message: `${issue?.path.join('.')} ${issue?.message}` });
        continue;
      }
      if (!calls.isKept(eventOf(parsed.data))) {
        outcome.old += 1;
        continue;
      }
      outcome.read += 1;
      lines.push(parsed.data);
      if (lines.length === batch) await write();
    }
  } catch (error) {
    if (error instanceof SyntaxError) throw new AppError('validation_failed', error.message, { cause: error });
    throw error;
  }
  if (columns === null) throw new AppError('validation_failed', 'The file is empty; its first line names the columns.');
  if (lines.length > 0) await write();
  return outcome;
}

function assertColumns(columns: readonly string[], provider: Carrier | null): void {
  const missing = [...required, ...(provider === null ? ['provider'] : [])].filter((name) => !columns.includes(name));
  if (missing.length > 0)
    throw new AppError(
      'validation_failed',
      `The first line must name the columns, separated by commas or semicolons. Missing: ${missing.join(', ')}` +
        `${missing.includes('provider') ? ' (or use --provider)' : ''}. GET /calls/export?format=csv returns a file with all columns.`,
    );
}

const keyOf = ({ provider, callSid }: Pick<CallRecord, 'provider' | 'callSid'>) => `${provider} ${callSid}`;

/** Whether a line differs from the stored record. Empty cells count as equal. */
function addsInformation(line: Line, stored: CallRecord | undefined): boolean {
  if (stored?.state !== 'ended') return true;
  const { state: _state, ...fields } = line;
  return Object.entries(fields).some(
    ([name, value]) =>
      value !== null && (value instanceof Date ? value.toISOString() : value) !== stored[name as keyof CallRecord],
  );
}

function eventOf(line: Line): CallEvent {
  const { result } = line;
  const isNotTaken = result === 'missed' || result === 'cancelled';
  return {
    provider: line.provider,
    callSid: line.callSid,
    direction: line.direction,
    fromId: line.fromId,
    toId: line.toId,
    rank: ranks.ended,
    sequence: 0,
    at: line.endedAt,
    outcome: isNotTaken ? 'not_taken' : result === 'voicemail' ? 'completed' : result,
    reason: line.reason,
    sipCode: line.sipCode,
    hangupBy: line.hangupBy,
    reportedSecs: result === 'answered' ? line.durationSecs : null,
    startedAt: line.startedAt,
    answeredAt: line.answeredAt,
    endedAt: line.endedAt,
    machine: result === 'voicemail',
    mosScore: line.mosScore,
  };
}
