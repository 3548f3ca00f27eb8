import { z } from 'zod';
import { named } from '../common.ts';

/** Currencies by ISO 4217, as far as this runtime knows them: the set is closed, so that a metric may tell them apart. */
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

export const currency = z
  .string()
  .refine((code) => currencies.has(code), 'must be a currency code of ISO 4217, such as USD')
  .meta({ example: 'USD' })
  .describe('Currency code of ISO 4217, such as `USD`');

/** More than any model costs, and little enough that a call's cost is a whole number that JSON carries exactly. */
const maxPriceMicros = 100_000_000_000;

const price = (what: string) =>
  z
    .int('must be a whole number, in millionths of the currency')
    .min(0, 'must not be negative')
    .max(maxPriceMicros, `must be at most ${maxPriceMicros.toLocaleString('en')}`)
    .describe(`Of a million tokens ${what}, in millionths of the currency: 1250000 for 1.25`)
    .meta({ example: 1_250_000 });

/** What the tokens of a model cost. */
export const modelPrices = named(
  'ModelPrices',
  z.strictObject({ inputMicros: price('in'), outputMicros: price('out'), currency }),
  { inputMicros: 1_250_000, outputMicros: 10_000_000, currency: 'USD' },
);
export type ModelPrices = z.output<typeof modelPrices>;
