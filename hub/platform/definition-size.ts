import { invalidBody } from '../../shared/errors.ts';
import type { JsonValue } from '../../shared/json.ts';
import { heapOf } from './process/memory-budget.ts';

/** Largest definition, in bytes of JSON. Schedules, events, hooks and lists read many definitions at a time. */
const maxDefinitionBytes = 256 * 1024;

/** Limit of the estimated heap of a parsed definition, in bytes. */
const maxDefinitionHeap = 2 * 1024 * 1024;

/** Returns why a definition is too large, or null. */
function definitionProblem(definition: JsonValue): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  if (bytes > maxDefinitionBytes)
    return `has ${bytes} bytes of JSON, and the limit is ${maxDefinitionBytes} bytes; move large values into the payload of the run`;
  const heap = heapOf(definition);
  if (heap > maxDefinitionHeap)
    return `uses ${heap} bytes of memory, and the limit is ${maxDefinitionHeap} bytes; use fewer objects, lists and fields, or move them into the payload of the run`;
  return null;
}

/**
 * Checks the sizes of the definitions in a request body.
 * @param fields values by field name. Undefined and null values are skipped.
 * @throws AppError `validation_failed` that names the field.
 */
export function assertDefinitionSize(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, definition] of Object.entries(fields)) {
    const problem = definition === undefined || definition === null ? null : definitionProblem(definition as JsonValue);
    if (problem !== null) throw invalidBody(name, problem);
  }
}
