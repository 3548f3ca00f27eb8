import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../../../shared/json.ts';

/**
 * The fields of an object that a change gave another value, as `{"field": {"from": …, "to": …}}` for the details of an
 * audit entry. A field that is missing on one side is null there.
 */
export function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .map(
        (name) =>
          [name, { from: (before[name] ?? null) as JsonValue, to: (after[name] ?? null) as JsonValue }] as const,
      )
      .filter(([, { from, to }]) => !isDeepStrictEqual(from, to)),
  );
}

/** The fields of a row that a request body sets. */
export const fieldsOf = (row: object, body: object): Record<string, unknown> =>
  Object.fromEntries(Object.keys(body).map((name) => [name, (row as Record<string, unknown>)[name]]));
