/** Milliseconds of the machine's monotonic clock. All processes share it, and no program can set it. */
export const machineTime = (): number => Number(process.hrtime.bigint()) / 1e6;
