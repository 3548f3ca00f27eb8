/** A runtime process that the app started. */
export interface CompanionProcess {
  readonly pid: number | undefined;
  /** Resolves to the reason when the process has ended. */
  readonly ended: Promise<string>;
  /** Requests a graceful stop. */
  stop(): void;
  kill(): void;
}
