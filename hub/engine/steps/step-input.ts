import { UnstorableError, jsonLength, toStorableJson } from '../../../shared/json.ts';
import type { JsonValue } from '../../../shared/json.ts';
import type { RunContext } from '../runs/run-context.ts';

/** What the input of a step may take up, as JSON in UTF-8, to be kept for people to read. */
export const maxInputBytes = 64 * 1024;

/** Keeps what a step is called with, its templates filled in; the engine itself never reads it again. */
export function noteInput(ctx: RunContext, index: number, input: JsonValue): void {
  ctx.called = { index, text: ctx.working(index, () => textOf(input)) };
}

function textOf(input: JsonValue): string | null {
  // An escaped text is never shorter, so that a large one is not written out to learn that it is.
  if (jsonLength(input, maxInputBytes) > maxInputBytes) return null;
  try {
    const text = JSON.stringify(toStorableJson(input));
    return Buffer.byteLength(text) > maxInputBytes ? null : text;
  } catch (error) {
    if (error instanceof UnstorableError) return null;
    throw error;
  }
}
