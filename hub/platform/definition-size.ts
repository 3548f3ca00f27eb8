import { invalidBody } from '../../shared/errors.ts';
import type { JsonValue } from '../../shared/json.ts';
import { heapOf } from './process/memory-budget.ts';

/** Longest definition, as JSON in UTF-8, in bytes. Many definitions are read at a time: by schedules, events, hooks and lists. */
const maxDefinitionBytes = 256 * 1024;

/** The heap that a definition may use, in bytes. */
const maxDefinitionHeap = 2 * 1024 * 1024;

/** Why a definition is too large to be saved; null when it is not. */
function definitionProblem(definition: JsonValue): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  if (bytes > maxDefinitionBytes)
    return `has ${bytes} bytes of JSON, and the limit is ${maxDefinitionBytes} bytes; move large values into the payload of the run`;
  const heap = heapOf(definition);
  if (heap > maxDefinitionHeap)
    return `uses ${heap} bytes of memory, and the limit is ${maxDefinitionHeap} bytes; use fewer objects, lists and fields, or move them into the payload of the run`;
  return null;
}

/** @param fields parts of a body by their names; those left out and null are not checked. @throws AppError `validation_failed` that names the field that is too large. */
export function assertDefinitionSize(fields: Readonly<Record<string, unknown>>): void {
  for (const [name, definition] of Object.entries(fields)) {
    const problem = definition === undefined || definition === null ? null : definitionProblem(definition as JsonValue);
    if (problem !== null) throw invalidBody(name, problem);
  }
}
