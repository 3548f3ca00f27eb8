const earliest = Date.UTC(2000, 0);
const aheadMs = 86_400_000;

/**
 * Whether a time, in milliseconds since 1970, is plausible for a call. The bound keeps the duration between any two
 * such times within a database integer.
 */
export const isCallTime = (at: number): boolean => at >= earliest && at <= Date.now() + aheadMs;

export const callTimeRule = 'must be in the year 2000 or later, and no more than a day from now';
