/** Milliseconds of the monotonic clock that all processes of this machine share, and that no program can set. */
export const machineTime = (): number => Number(process.hrtime.bigint()) / 1e6;
