const earliest = Date.UTC(2000, 0);
const aheadMs = 86_400_000;

/** Whether a call can have been at an instant, in milliseconds since 1970: whichever of them meet in one record, their span in seconds is an integer of the database. */
export const isCallTime = (at: number): boolean => at >= earliest && at <= Date.now() + aheadMs;

export const callTimeRule = 'must be in the year 2000 or later, and no more than a day from now';
