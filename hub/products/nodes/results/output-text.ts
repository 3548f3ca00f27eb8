import type { JsonValue } from '../../../../shared/json.ts';

/** Returns the text of a command output (`stdout`, `text` or `content`), or its JSON. */
export function textOfOutput(output: JsonValue): string {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) {
    for (const key of ['stdout', 'text', 'content']) {
      const value = output[key];
      if (typeof value === 'string') return value;
    }
  }
  return JSON.stringify(output);
}
