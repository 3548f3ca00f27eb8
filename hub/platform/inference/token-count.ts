/** More tokens than any call has: what a server says beyond that is wrong. */
const maxTokens = 100_000_000;

/** Tokens as a provider says them, as a whole number that can be summed and kept; 0 for what is no number. */
export const toTokenCount = (tokens: number | undefined): number =>
  tokens === undefined || !Number.isFinite(tokens) ? 0 : Math.min(maxTokens, Math.max(0, Math.round(tokens)));
