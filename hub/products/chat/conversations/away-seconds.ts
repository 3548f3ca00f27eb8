/** After so long without a live connection an agent is not there, in seconds. */
export const awaySeconds = 30;
