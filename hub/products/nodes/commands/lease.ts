/** How long a device may be silent about a command that it holds, in seconds. */
export const leaseSeconds = 45;

/** Longest pause of a device between two attempts to reach its hub, in seconds; its companion keeps to it. */
export const devicesReturnSeconds = 30;

/** How long a device may take to hand its result over once it is done, in seconds: a large artefact on a slow line. */
export const handOverSeconds = 3_600;

/** A command that only reads is handed out again until so long after it was made, in seconds. */
export const rereadSeconds = 300;

/** How long a node has to take a command that is handed out again, in seconds. */
export const retakeSeconds = 60;
