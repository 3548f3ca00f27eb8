import { canonicalJson } from '../../shared/json.ts';

/** Who last changed each field of a resource, by field name: `user:<id>`, `token:<id>` or another actor. */
export type FieldAuthors = Record<string, string>;

/**
 * The authors of a resource after a change. `actor` becomes the author of each field of `after` whose value differs from `before`, so that
 * a change of one field, or a request that repeats the present values, does not remove the author of another.
 * @param before null for a new resource. @param after fields that are undefined do not change.
 */
export function authorsAfter(
  before: { values: Readonly<Record<string, unknown>>; authors: FieldAuthors } | null,
  after: Readonly<Record<string, unknown>>,
  actor: string,
): FieldAuthors {
  const isChanged = ([field, value]: [string, unknown]) =>
    value !== undefined &&
    (before === null || canonicalJson(value ?? null) !== canonicalJson(before.values[field] ?? null));
  const changed = Object.entries(after).filter(isChanged);
  return { ...before?.authors, ...Object.fromEntries(changed.map(([field]) => [field, actor])) };
}
