import type { JsonValue } from '../../../../shared/json.ts';

/** What a person would read of a node's answer: its text, else its JSON. */
export function textOfOutput(output: JsonValue): string {
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) {
    for (const key of ['stdout', 'text', 'content']) {
      const value = output[key];
      if (typeof value === 'string') return value;
    }
  }
  return JSON.stringify(output);
}
