import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
}

const tokensOfPrice = 1_000_000n;

/** What tokens cost, in millionths of the currency: a whole number, half a millionth rounded up. */
export function costMicrosOf(
  { inputTokens, outputTokens }: Tokens,
  { inputMicros, outputMicros }: ModelPrices,
): bigint {
  const exact = BigInt(inputTokens) * BigInt(inputMicros) + BigInt(outputTokens) * BigInt(outputMicros);
  return (exact + tokensOfPrice / 2n) / tokensOfPrice;
}
