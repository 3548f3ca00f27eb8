import type { UpdateState } from '../../../shared/companion/app.ts';

/** Checks for new versions and installs them, or tells the owner how to install them. */
export interface Updater {
  readonly state: UpdateState;
  /** Checks for an update now and downloads it. Never throws: errors are in the state. */
  check(): Promise<void>;
  /** Installs a ready update now, without waiting for running commands. Does nothing if none is ready. */
  apply(): Promise<void>;
  /** Call this once the version works: its runtime runs, and its window or tray is shown. */
  confirmStarted(): void;
  /** Aborts the work in progress and waits for its end. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Operations of the app that updates need. */
export interface UpdatePort {
  onChange(state: UpdateState): void;
  /** Resolves when no command runs and the window is hidden. */
  whenIdle(signal: AbortSignal): Promise<void>;
  /** Prepares the start of another app instance: stops the runtime and releases the single-instance lock. */
  releaseInstance(): Promise<void>;
  /** Arguments for the program that replaces this one. */
  args(): string[];
  /** Exits the app. If a program is given, starts it with these arguments. */
  exitTo(program: string | null): void;
}

export const checkEveryMs = 6 * 60 * 60_000;

/** Calls `check`, which reports its own failures, soon after the start, and then every few hours until the signal aborts. */
export function checkRegularly(check: () => Promise<void>, everyMs: number, signal: AbortSignal): void {
  const schedule = (afterMs: number) => {
    const timer = setTimeout(() => {
      const scheduleNext = () => {
        // The random part spreads the checks of all installations.
        if (!signal.aborted) schedule(everyMs * (0.9 + Math.random() * 0.2));
      };
      check().then(scheduleNext, scheduleNext);
    }, afterMs);
    timer.unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };
  schedule(Math.min(60_000, everyMs));
}

/** For installations that do not update automatically. `detail` says why, and what the owner can do. */
export function manualUpdater(current: string, by: 'system' | 'nobody', detail: string): Updater {
  return {
    state: { by, current, state: 'idle', version: null, detail },
    check: () => Promise.resolve(),
    apply: () => Promise.resolve(),
    confirmStarted: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
