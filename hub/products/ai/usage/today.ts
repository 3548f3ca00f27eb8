/** SQL for the start of the current day (UTC). */
export const todayStart = `date_trunc('day', now(), 'UTC')`;
