/** A runtime that the app started, as its keeper sees it. */
export interface CompanionProcess {
  readonly pid: number | undefined;
  /** Why it ended, in words. */
  readonly ended: Promise<string>;
  /** Asks it to end what it does, and itself. */
  stop(): void;
  kill(): void;
}
