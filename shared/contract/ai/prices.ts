import { z } from 'zod';
import { named } from '../common.ts';

/** ISO 4217 currencies that the runtime knows. The set is bounded, so that a metric can use the currency as a label. */
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

export const currency = z
  .string()
  .refine((code) => currencies.has(code), 'must be a currency code of ISO 4217, such as USD')
  .meta({ example: 'USD' })
  .describe('Currency code of ISO 4217, such as `USD`');

/** Higher than the price of any model, and low enough that the cost of a call is an exact integer in JSON. */
const maxPriceMicros = 100_000_000_000;

const price = (what: string) =>
  z
    .int('must be a whole number, in millionths of the currency')
    .min(0, 'must not be negative')
    .max(maxPriceMicros, `must be at most ${maxPriceMicros.toLocaleString('en')}`)
    .describe(`Price of one million ${what} tokens, in millionths of the currency: 1250000 for 1.25`)
    .meta({ example: 1_250_000 });

/** Prices of the tokens of a model. */
export const modelPrices = named(
  'ModelPrices',
  z.strictObject({ inputMicros: price('input'), outputMicros: price('output'), currency }),
  { inputMicros: 1_250_000, outputMicros: 10_000_000, currency: 'USD' },
);
export type ModelPrices = z.output<typeof modelPrices>;
