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

/** More tokens than any call has: what a server says beyond that is wrong. */
const mostTokens = 100_000_000;

/** Tokens as a provider says them, as whole numbers that can be counted. */
export const soundTokens = ({ inputTokens, outputTokens }: Tokens): Tokens => ({
  inputTokens: sound(inputTokens),
  outputTokens: sound(outputTokens),
});

const sound = (tokens: number) => (Number.isFinite(tokens) ? Math.min(mostTokens, Math.max(0, Math.round(tokens))) : 0);
