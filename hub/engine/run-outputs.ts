import type { JsonValue } from '../../shared/json.ts';
import { StepFailure } from './failure.ts';
import type { HeldRun } from './held-run.ts';
import { neededOutputs } from './output-uses.ts';

/** What the outputs of a run may take up in all, as UTF-8. */
export const maxRunOutputBytes = 32 * 1024 * 1024;

/** What an output and its text take up, as UTF-8. */
export function outputBytesOf(output: JsonValue, outputText: string | null): number {
  return (
    (output === null ? 0 : Buffer.byteLength(JSON.stringify(output))) +
    (outputText === null ? 0 : Buffer.byteLength(outputText))
  );
}

/** @throws StepFailure that names the limit when a run can't keep so much more of one of its steps. */
export function assertOutputFits(held: HeldRun, index: number, bytes: number): void {
  let others = 0;
  for (const row of held.results.values()) if (row.index !== index) others += row.output_bytes;
  if (others + bytes <= maxRunOutputBytes) return;
  const message = `The outputs of this run would take up ${others + bytes} bytes with that of this step; ${maxRunOutputBytes} is the most. Let its steps answer with less, or split the workflow.`;
  throw new StepFailure('run_outputs_too_large', message, { retryable: false });
}

/** What a step that failed keeps of its output: all of it, or null when the run has no capacity left for it. */
export function outputOfFailure(held: HeldRun, index: number, { output }: StepFailure): JsonValue {
  try {
    if (output !== null)
      assertOutputFits(
        held,
        index,
        held.working(index, () => outputBytesOf(output, null)),
      );
    return output;
  } catch (error) {
    if (error instanceof StepFailure) return null;
    throw error;
  }
}

/** Brings in the outputs that the rest of a run may read, and no others. */
export async function loadOutputs(held: HeldRun): Promise<void> {
  const { run, results, uses } = held;
  const needed = [...neededOutputs(run.steps, uses, results, run.next_step)];
  if (needed.length === 0) return;
  const { rows } = await held.read((tx) =>
    tx.query<{ index: number; output: JsonValue; output_text: string | null }>(
      'load_outputs',
      'SELECT index, output, output_text FROM run_steps WHERE run_id = $1 AND index = ANY($2::int[])',
      [run.id, needed],
    ),
  );
  for (const { index, output, output_text: outputText } of rows) {
    const row = results.get(index);
    if (row !== undefined) results.set(index, { ...row, output, output_text: outputText });
  }
}

/** Lets go of the outputs that nothing reads from `from` on. */
export function dropOutputs(held: HeldRun, from: number): void {
  const needed = neededOutputs(held.run.steps, held.uses, held.results, from);
  for (const [index, row] of held.results) {
    if (!needed.has(index) && (row.output !== null || row.output_text !== null))
      held.results.set(index, { ...row, output: null, output_text: null });
  }
}
