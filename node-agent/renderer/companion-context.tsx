import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import type { CompanionState } from '../../shared/companion/state.ts';
import type { CompanionStore, WindowData } from './companion-store.ts';
import { rewordForOwner } from './outcome-words.ts';

const StoreContext = createContext<CompanionStore | null>(null);

export function CompanionProvider({ store, children }: { store: CompanionStore; children: ReactNode }) {
  return <StoreContext value={store}>{children}</StoreContext>;
}

export function useStore(): CompanionStore {
  const store = useContext(StoreContext);
  if (store === null) throw new Error('useStore needs a CompanionProvider.');
  return store;
}

/**
 * Selects a part of the data. The component renders again only if that part changed, so `select` must return a part of
 * the data and never a new object.
 */
export function useSelected<Part>(select: (data: WindowData) => Part): Part {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.read()));
}

/** Selects a part of the state of the companion. Only for components that render after the state is loaded. */
export function useCompanionState<Part>(select: (state: CompanionState) => Part): Part {
  return useSelected(({ state }) => {
    if (state === null) throw new Error('The state of the companion is not loaded yet.');
    return select(state);
  });
}

/** Name of the workspace, from the newest command since the pairing. Null until the hub has sent a command. */
export const useWorkspaceName = (): string | null =>
  useSelected(({ state, history }) => {
    const pairedAt = Date.parse(state?.paired?.pairedAt ?? '');
    const newest = history?.find(({ origin, time }) => origin !== null && Date.parse(time) > pairedAt);
    return newest?.origin?.workspace.name ?? null;
  });

export interface Action {
  /** Starts an operation. A failure is shown as `error`. Ignores calls while an operation is in progress. */
  run: (operation: () => Promise<unknown>, onSuccess?: () => void) => void;
  isBusy: boolean;
  error: string | null;
  clear: () => void;
}

/** State of an action of the owner: whether it is in progress, and its error until the next attempt. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const run = useCallback(
    (operation: () => Promise<unknown>, onSuccess?: () => void) => {
      if (isBusy) return;
      setBusy(true);
      operation()
        .then(
          () => {
            setError(null);
            onSuccess?.();
          },
          (thrown: unknown) => setError(rewordForOwner(thrown instanceof Error ? thrown.message : String(thrown))),
        )
        .finally(() => setBusy(false));
    },
    [isBusy],
  );
  const clear = useCallback(() => setError(null), []);
  return { run, isBusy, error, clear };
}

/** The current time in milliseconds since 1970, refreshed every `everyMs` milliseconds. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

/** Time during which a new decision dialog ignores input. */
const guardMs = 700;

/**
 * Whether a decision dialog accepts input. False for `guardMs` after the dialog appears or the window returns to the
 * front, so that a key or click meant for something else does not decide.
 */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  const timesShown = useSelected((data) => data.timesShown);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      setArmed(false);
      clearTimeout(timer);
      timer = setTimeout(() => setArmed(true), guardMs);
    };
    wait();
    window.addEventListener('focus', wait);
    document.addEventListener('visibilitychange', wait);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('focus', wait);
      document.removeEventListener('visibilitychange', wait);
    };
  }, [timesShown]);
  return isArmed;
}

/** Whether a media query matches. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const list = window.matchMedia(query);
      list.addEventListener('change', listener);
      return () => list.removeEventListener('change', listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches);
}
