/** SQL of the beginning of this day, UTC. */
export const todayStart = `date_trunc('day', now(), 'UTC')`;
