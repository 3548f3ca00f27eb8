import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import { maxRenderedTotal } from '../../../shared/template.ts';
import { freeBytes, heapOf, heapOfText, OutOfMemory, partOfHeap } from '../../platform/process/memory-budget.ts';
import type { MemoryBudgetOptions } from '../../platform/process/memory-budget.ts';
import { StepFailure } from '../failure.ts';
import { stepsOf } from '../skills/skill-run.ts';
import { neededOutputs, outputsReadBy } from './output-uses.ts';
import type { RunContext } from './run-context.ts';
import type { ClaimedRun, StepRow } from './store.ts';

/** Limit for the outputs of one run together, in bytes as `outputBytesOf` counts them. */
export const maxRunOutputBytes = 32 * 1024 * 1024;

/** Bytes of heap that count as one byte of an output. */
const heapPerOutputByte = 3;

/** Largest output that is used without a reservation, in bytes as `outputBytesOf` counts them. */
export const smallOutputBytes = freeBytes / heapOfText(1);

/** How long a step waits for memory, in minutes. */
const waitMinutes = 15;

/** The memory of a worker process for the large payloads, outputs and states of runs. */
export const runMemory = (): MemoryBudgetOptions => ({
  limitBytes: partOfHeap(1 / 4),
  waitMs: waitMinutes * 60_000,
  largestPart: 1 / 2,
});

/** Size of an output and its text, in bytes: their length in UTF-8, or a third of their heap if that is more. */
export function outputBytesOf(output: JsonValue, outputText: string | null): number {
  const length = output === null ? 0 : Buffer.byteLength(JSON.stringify(output));
  const text = outputText === null ? 0 : Buffer.byteLength(outputText);
  return Math.max(length, Math.ceil(heapOf(output) / heapPerOutputByte)) + text;
}

/** Why a run cannot store one more output of this size; null when it can. Sizes are in bytes as `outputBytesOf` counts them. */
export function refuseOutput(otherOutputBytes: number, bytes: number): StepFailure | null {
  const total = otherOutputBytes + bytes;
  if (total <= maxRunOutputBytes) return null;
  const message = `The outputs of this run would take up ${total} bytes with that of this step; ${maxRunOutputBytes} is the most. Let its steps answer with less, or split the workflow.`;
  return new StepFailure('run_outputs_too_large', message, { retryable: false });
}

/** Size of the outputs of all steps of a run but one, in bytes. */
export function otherOutputBytesOf({ results }: Pick<RunContext, 'results'>, index: number): number {
  let bytes = 0;
  for (const row of results.values()) if (row.index !== index) bytes += row.output_bytes;
  return bytes;
}

/** A result without its output, which the database has. */
const withoutOutput = (row: StepRow): StepRow => ({ ...row, output: null, output_text: null, heap: undefined });

/** A result with its output and the heap of the output. */
export const withOutput = (row: StepRow, output: JsonValue, outputText: string | null): StepRow => ({
  ...row,
  output,
  output_text: outputText,
  heap: heapOf(output) + heapOf(outputText),
});

/** Drops a payload and a context that are too large to keep in memory. They are read again when a step needs them. */
export function setAsideInput(run: ClaimedRun): void {
  if (run.unread_input !== null) return;
  const heap = heapOf(run.payload) + heapOf(run.context);
  if (heap > freeBytes) Object.assign(run, { payload: null, context: null, unread_input: heap });
}

/**
 * Reads the earlier outputs and the payload that the templates of a step use and this process does not have. Waits for memory first.
 * @throws StepFailure `out_of_memory`.
 */
export async function readInputs(ctx: RunContext, index: number): Promise<void> {
  const { run, results, uses } = ctx;
  // An approval shows the input of the step after it.
  const reading = run.steps[index]?.type === 'approval' ? [index, index + 1] : [index];
  const counts = new Map<number, number>();
  for (const reader of reading)
    for (const [earlier, count] of outputsReadBy(run.steps, uses, results, reader))
      counts.set(earlier, (counts.get(earlier) ?? 0) + count);
  const inputCount = reading.reduce((sum, reader) => sum + (uses.steps[reader]?.input ?? 0), 0);
  let [heap, rendered] = [0, 0];
  const missing: number[] = [];
  for (const [earlier, count] of counts) {
    const row = results.get(earlier);
    if (row === undefined || row.output_bytes === 0) continue;
    const size = row.heap ?? heapOfText(row.output_bytes);
    rendered += count * size;
    if (row.heap !== undefined) continue;
    heap += size;
    missing.push(earlier);
  }
  const readsInput = run.unread_input !== null && inputCount > 0;
  if (readsInput) heap += run.unread_input ?? 0;
  rendered += inputCount * (run.unread_input ?? 0);
  const bytes = heap + Math.min(rendered, 2 * maxRenderedTotal);
  await reserve(ctx, bytes);
  if (missing.length > 0) await readOutputs(ctx, missing, index);
  if (readsInput) await readInput(ctx);
}

/** Reads the wanted outputs, and with them the small outputs that later steps read. */
async function readOutputs(ctx: RunContext, wanted: readonly number[], from: number): Promise<void> {
  const { run, results, uses } = ctx;
  const indexes = new Set(wanted);
  let kept = 0;
  for (const index of neededOutputs(run.steps, uses, results, from)) {
    const row = results.get(index);
    if (row === undefined || row.heap !== undefined) continue;
    kept += heapOfText(row.output_bytes);
    if (kept <= freeBytes) indexes.add(index);
  }
  const { rows } = await ctx.read((tx) =>
    tx.query<{ index: number; output: JsonValue; output_text: string | null }>(
      'load_outputs',
      'SELECT index, output, output_text FROM run_steps WHERE run_id = $1 AND index = ANY($2::int[])',
      [run.id, [...indexes]],
    ),
  );
  for (const { index, output, output_text: outputText } of rows) {
    const row = results.get(index);
    if (row !== undefined) results.set(index, withOutput(row, output, outputText));
  }
}

async function readInput({ run, read }: RunContext): Promise<void> {
  const { rows } = await read((tx) =>
    tx.query<Pick<ClaimedRun, 'payload' | 'context'>>('load_input', 'SELECT payload, context FROM runs WHERE id = $1', [
      run.id,
    ]),
  );
  Object.assign(run, rows[0], { unread_input: null });
  run.steps = stepsOf(run);
}

/**
 * Drops the outputs that no step from `from` on reads, and those that are too large to keep until then, and releases their memory. An
 * output that is read again is written first.
 */
export async function setAside(ctx: RunContext, from: number): Promise<void> {
  const { run, results, uses } = ctx;
  const needed = neededOutputs(run.steps, uses, results, from);
  const large: number[] = [];
  // The output of the step that has just ended is in memory until it is written, even if no step reads it.
  const mayBeUnwritten = (results.get(from - 1)?.heap ?? 0) > freeBytes;
  let kept = 0;
  for (const [index, row] of results) {
    if (row.heap === undefined) continue;
    if (!needed.has(index)) results.set(index, withoutOutput(row));
    else if (kept + row.heap <= freeBytes) kept += row.heap;
    else large.push(index);
  }
  // If the write fails, the write of the next step fails for the same reason, and its caller handles the error.
  const isWritten =
    (large.length === 0 && !mayBeUnwritten) ||
    (await ctx.writes.catchUp().then(
      () => true,
      () => false,
    ));
  for (const index of isWritten ? large : []) results.set(index, withoutOutput(results.get(index) as StepRow));
  setAsideInput(run);
  if (run.unread_input !== null) run.steps = stepsOf(run);
  if (isWritten) ctx.memory.tryResize(0);
}

/** Reads a state that was too large for the claim, after memory is reserved for it. Null for other steps. @throws StepFailure `out_of_memory`. */
export async function readLargeState(ctx: RunContext, row: StepRow | undefined): Promise<JsonObject | null> {
  if (row?.unread_state !== true) return null;
  const { rows } = await ctx.read((tx) =>
    tx.query<{ bytes: number | null }>(
      'measure_state',
      'SELECT octet_length(state::text) AS bytes FROM run_steps WHERE run_id = $1 AND index = $2',
      [ctx.runId, row.index],
    ),
  );
  await reserve(ctx, heapOfText(rows[0]?.bytes ?? 0));
  return readState(ctx, row.index);
}

/** The stored state of a step. */
export async function readState(ctx: RunContext, index: number): Promise<JsonObject | null> {
  const { rows } = await ctx.read((tx) =>
    tx.query<{ state: JsonObject | null }>(
      'load_state',
      'SELECT state FROM run_steps WHERE run_id = $1 AND index = $2',
      [ctx.runId, index],
    ),
  );
  return rows[0]?.state ?? null;
}

/** Reserves heap for a step. Other runs can use its slot while it waits. @throws StepFailure `out_of_memory`. */
export async function reserve(
  { memory, slot, signal }: RunContext,
  heapBytes: number,
  { retryable = true }: { retryable?: boolean } = {},
): Promise<void> {
  if (memory.tryResize(heapBytes)) return;
  try {
    await slot.outside(() => memory.resize(heapBytes, signal));
  } catch (error) {
    if (!(error instanceof OutOfMemory)) throw error;
    throw new StepFailure(
      'out_of_memory',
      `For ${waitMinutes} minutes the hub had no memory free for what this step reads. Let the step read less, or run fewer runs with large outputs at a time.`,
      { retryable },
    );
  }
}
