/** How long a device may be silent about a command that it holds, in seconds. */
export const leaseSeconds = 45;

/** Longest pause of a device between two attempts to reach its hub, in seconds; its companion keeps to it. */
export const devicesReturnSeconds = 30;

/** How long a device may take to hand its result over once it is done, in seconds: a large artefact on a slow line. */
export const handOverSeconds = 3_600;
