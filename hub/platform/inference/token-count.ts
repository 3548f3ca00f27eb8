/** Above the tokens of any real call. A larger number from a provider is an error. */
const maxTokens = 100_000_000;

/** Converts a provider's token count to an integer that is safe to sum and store; 0 when it is not a number. */
export const toTokenCount = (tokens: number | undefined): number =>
  tokens === undefined || !Number.isFinite(tokens) ? 0 : Math.min(maxTokens, Math.max(0, Math.round(tokens)));
