import type { ModelPrices } from '../../../../shared/contract/ai/prices.ts';

export interface Tokens {
  inputTokens: number;
  outputTokens: number;
}

const tokensOfPrice = 1_000_000n;

/** The cost of tokens in millionths of the currency, rounded half up. */
export function costMicrosOf(
  { inputTokens, outputTokens }: Tokens,
  { inputMicros, outputMicros }: ModelPrices,
): bigint {
  const exact = BigInt(inputTokens) * BigInt(inputMicros) + BigInt(outputTokens) * BigInt(outputMicros);
  return (exact + tokensOfPrice / 2n) / tokensOfPrice;
}
