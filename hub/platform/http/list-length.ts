import type { z } from 'zod';

interface TooLong {
  path: PropertyKey[];
  length: number;
  maximum: number;
}

/** The parts of a schema's definition that are read here. */
interface Definition {
  type: string;
  checks?: readonly { _zod: { def: { check: string; maximum?: number } } }[];
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
}

/** The most entries that a list may have; infinite where its schema does not say. */
const maximumOf = ({ checks = [] }: Definition): number =>
  checks.reduce(
    (least, { _zod: { def } }) =>
      def.check === 'max_length' || def.check === 'length_equals' ? Math.min(least, def.maximum ?? least) : least,
    Number.POSITIVE_INFINITY,
  );

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
      const maximum = maximumOf(definition);
      if (value.length > maximum) return { path: [], length: value.length, maximum };
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
