import type { z } from 'zod';

interface TooLongList {
  path: PropertyKey[];
  message: string;
}

/** The properties of a Zod schema definition that `findTooLongList` reads. */
interface Definition {
  type: string;
  checks?: readonly { _zod: { def: { check: string; maximum?: number; error?: (issue: object) => unknown } } }[];
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
}

/**
 * Describes why a list has too many entries, with the schema's own message if it has one; null when the length is
 * allowed.
 */
function lengthProblem({ checks = [] }: Definition, length: number): string | null {
  for (const {
    _zod: { def },
  } of checks) {
    if (def.check !== 'max_length' || length <= (def.maximum ?? length)) continue;
    const custom = def.error?.({ code: 'too_big', maximum: def.maximum, inclusive: true });
    if (typeof custom === 'string') return custom;
    const message = (custom as { message?: unknown } | null | undefined)?.message;
    return typeof message === 'string' ? message : `has ${length} entries, and may have at most ${def.maximum}`;
  }
  return null;
}

/**
 * Returns the first list with more entries than its schema allows; null when there is none. Zod validates every entry
 * before it checks the length: hundreds of thousands of entries would block the event loop for a second.
 */
export function findTooLongList(schema: z.core.$ZodType, value: unknown): TooLongList | null {
  const definition = schema._zod.def as unknown as Definition;
  switch (definition.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return findTooLongList(definition.innerType as z.core.$ZodType, value);
    case 'pipe':
      return findTooLongList(definition.in as z.core.$ZodType, value);
    case 'object': {
      if (typeof value !== 'object' || value === null) return null;
      for (const [key, part] of Object.entries(definition.shape ?? {})) {
        const found = Object.hasOwn(value, key) ? findTooLongList(part, (value as Record<string, unknown>)[key]) : null;
        if (found !== null) return { ...found, path: [key, ...found.path] };
      }
      return null;
    }
    case 'array': {
      if (!Array.isArray(value)) return null;
      const message = lengthProblem(definition, value.length);
      if (message !== null) return { path: [], message };
      const element = definition.element as z.core.$ZodType;
      for (const [index, item] of value.entries()) {
        const found = findTooLongList(element, item);
        if (found !== null) return { ...found, path: [index, ...found.path] };
      }
      return null;
    }
    default:
      return null;
  }
}
