import { UnstorableError, jsonLength, toStorableJson } from '../../../shared/json.ts';
import type { JsonValue } from '../../../shared/json.ts';
import type { RunContext } from '../runs/run-context.ts';

/** Maximum size of a recorded step input, as JSON in UTF-8, in bytes. A larger input is not recorded. */
export const maxInputBytes = 64 * 1024;

/** Records the rendered input of a step, for users. The engine never reads it. The next write of the step stores it. */
export function recordInput(ctx: RunContext, index: number, input: JsonValue): void {
  ctx.called = { index, text: ctx.working(index, () => serializeInput(input)) };
}

function serializeInput(input: JsonValue): string | null {
  // `jsonLength` ignores escapes, which only add characters. An input above the limit is not serialized.
  if (jsonLength(input, maxInputBytes) > maxInputBytes) return null;
  try {
    const text = JSON.stringify(toStorableJson(input));
    return Buffer.byteLength(text) > maxInputBytes ? null : text;
  } catch (error) {
    if (error instanceof UnstorableError) return null;
    throw error;
  }
}
