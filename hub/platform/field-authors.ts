import { canonicalJson } from '../../shared/json.ts';

/** The last author of each field of a resource, by field name: `user:<id>`, `token:<id>` or another actor. */
export type FieldAuthors = Record<string, string>;

/**
 * Returns the authors of a resource after a change. `actor` becomes the author of each field whose value differs from
 * `before`. Fields that a request repeats with their present value keep their author.
 * @param before null for a new resource.
 * @param after undefined fields do not change.
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
