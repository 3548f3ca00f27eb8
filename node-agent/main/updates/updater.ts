import type { UpdateState } from '../../../shared/companion/app.ts';

/** How an installation learns of new versions, whichever way it is updated. */
export interface Updater {
  readonly state: UpdateState;
  /** Looks for an update now, and gets it; never throws: what went wrong is in the state. */
  check(): Promise<void>;
  /** Applies an update that is ready without waiting until nothing runs; nothing when none is. */
  apply(): Promise<void>;
  /** To be called once this version works: its runtime runs, and its window or tray is there. */
  confirmStarted(): void;
  /** Ends what is under way, and waits for it. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** What updates need of the app around them. */
export interface UpdatePort {
  onChange(state: UpdateState): void;
  /** Resolves as soon as no command runs and nobody uses the window. */
  whenIdle(signal: AbortSignal): Promise<void>;
  /** Makes room for another start of the app: the runtime is stopped, and the single-instance lock given back. */
  releaseInstance(): Promise<void>;
  /** With which words a program goes on in the place of this one. */
  args(): string[];
  /** Ends the app, and starts a program in its place, with those words, when one is named. */
  exitTo(program: string | null): void;
}

export const checkEveryMs = 6 * 60 * 60_000;

/** Calls `check` soon after the start, and then every few hours until the signal aborts. */
export function checkRegularly(check: () => Promise<void>, everyMs: number, signal: AbortSignal): void {
  const schedule = (afterMs: number) => {
    const timer = setTimeout(() => {
      void check().finally(() => {
        // Not everybody at the same moment.
        if (!signal.aborted) schedule(everyMs * (0.9 + Math.random() * 0.2));
      });
    }, afterMs);
    timer.unref();
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };
  schedule(Math.min(60_000, everyMs));
}

/** An installation that nobody updates by itself; `detail` says why, and what its owner can do. */
export function manualUpdater(current: string, by: 'system' | 'nobody', detail: string): Updater {
  return {
    state: { by, current, state: 'idle', version: null, detail },
    check: () => Promise.resolve(),
    apply: () => Promise.resolve(),
    confirmStarted: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
