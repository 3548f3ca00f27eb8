/** Formats the path of a JSON field, such as `body.steps[2].input`. */
export const fieldPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`))
    .join('');
