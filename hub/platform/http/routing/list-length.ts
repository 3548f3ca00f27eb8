import type { z } from 'zod';

interface TooLong {
  path: PropertyKey[];
  message: string;
}

/** The parts of a schema's definition that are read here. */
interface Definition {
  type: string;
  checks?: readonly { _zod: { def: { check: string; maximum?: number; error?: (issue: object) => unknown } } }[];
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
}

/** Why a list has too many entries, in the words of its schema where that has some; null when it does not. */
function lengthProblem({ checks = [] }: Definition, length: number): string | null {
  for (const {
    _zod: { def },
  } of checks) {
    if (def.check !== 'max_length' || length <= (def.maximum ?? length)) continue;
    const told = def.error?.({ code: 'too_big', maximum: def.maximum, inclusive: true });
    if (typeof told === 'string') return told;
    const inside = (told as { message?: unknown } | null | undefined)?.message;
    return typeof inside === 'string' ? inside : `has ${length} entries, and may have at most ${def.maximum}`;
  }
  return null;
}

/**
 * The first list with more entries than its schema allows; null when there is none. A schema looks at each entry before it counts them, and
 * writes down what is wrong with each: hundreds of thousands of entries would occupy the event loop for a second.
 */
export function findTooLongList(schema: z.core.$ZodType, value: unknown): TooLong | null {
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
