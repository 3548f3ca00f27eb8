/** More tokens than any call has: what a server says beyond that is wrong. */
const mostTokens = 100_000_000;

/** Tokens as a provider says them, as a whole number that can be summed and kept; 0 for what is no number. */
export const soundTokens = (tokens: number | undefined): number =>
  tokens === undefined || !Number.isFinite(tokens) ? 0 : Math.min(mostTokens, Math.max(0, Math.round(tokens)));
