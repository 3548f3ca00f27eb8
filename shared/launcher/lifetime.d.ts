/**
 * Calls `onStop` once when this process must stop: after a signal, or after the end of a wrapper process, such as npm,
 * its shell or the launcher. A second, later signal ends the process immediately.
 */
export function onStopRequest(options: { onStop: (reason: string) => void }): void;
