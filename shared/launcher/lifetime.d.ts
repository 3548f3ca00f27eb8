/**
 * Calls `onStop` once when this process is asked to end: by a signal, or because what only carried it is gone, such as npm, the shell between and the
 * launcher. Asked again, later, it ends at once.
 */
export function whenAskedToStop(options: { onStop: (reason: string) => void }): void;
