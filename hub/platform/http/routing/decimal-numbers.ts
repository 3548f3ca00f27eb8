import type { z } from 'zod';

interface Definition {
  type: string;
  coerce?: boolean;
  shape?: Record<string, z.core.$ZodType>;
  innerType?: z.core.$ZodType;
}

function isNumber(schema: z.core.$ZodType): boolean {
  const { type, coerce, innerType } = schema._zod.def as unknown as Definition;
  return innerType === undefined ? type === 'number' && coerce === true : isNumber(innerType);
}

/**
 * Replaces the texts of numbers in a path or query that are not decimal digits by NaN, which every schema refuses. Zod
 * converts texts with `Number`, which also accepts empty texts and texts such as `0x1` and `1e1`. A
 * number in a path has no leading zeros, so that a resource has one address.
 */
export function onlyDecimalNumbers(schema: z.core.$ZodType, input: unknown, part: 'params' | 'query'): unknown {
  const allowed = part === 'params' ? /^(?:0|[1-9]\d{0,15})$/ : /^\d{1,16}$/;
  const { shape = {} } = schema._zod.def as unknown as Definition;
  if (typeof input !== 'object' || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]: [string, unknown]) => {
      const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
      const isRefused = typeof value === 'string' && field !== undefined && isNumber(field) && !allowed.test(value);
      return [key, isRefused ? Number.NaN : value];
    }),
  );
}
