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
 * converts texts with `Number`, which also accepts empty texts and texts such as `0x1` and `1e1`.
 */
export function onlyDecimalNumbers(schema: z.core.$ZodType, input: unknown): unknown {
  const { shape = {} } = schema._zod.def as unknown as Definition;
  if (typeof input !== 'object' || input === null) return input;
  return Object.fromEntries(
    Object.entries(input).map(([key, value]: [string, unknown]) => {
      const part = Object.hasOwn(shape, key) ? shape[key] : undefined;
      const isRefused = typeof value === 'string' && part !== undefined && isNumber(part) && !/^\d{1,16}$/.test(value);
      return [key, isRefused ? Number.NaN : value];
    }),
  );
}
