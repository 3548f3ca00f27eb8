/** A place in JSON as people write it, such as `body.steps[2].input`; its first part stands as it is. */
export const fieldPath = (path: readonly PropertyKey[]): string =>
  path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`))
    .join('');
