/** An agent without a live connection for this long counts as offline. */
export const awaySeconds = 30;
