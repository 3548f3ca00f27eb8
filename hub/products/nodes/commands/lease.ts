/** Lease time of a command, in seconds. Polls and heartbeats of the device renew the lease. */
export const leaseSeconds = 45;

/** Maximum back-off of the companion between two connection attempts, in seconds. */
export const reconnectSeconds = 30;

/**
 * Time to transfer a result after its command has ended, in seconds. A large artifact may need it on a slow connection.
 */
export const resultTransferSeconds = 3_600;

/** Maximum age of a read-only command that may be leased again, in seconds. */
export const maxRequeueAgeSeconds = 300;

/** Time that a node has to fetch a command that became pending again, in seconds. */
export const refetchSeconds = 60;
