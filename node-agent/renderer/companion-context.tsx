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
  if (store === null) throw new Error('The window has no companion.');
  return store;
}

/** A part of what the window knows, read again only when that part changed: what is answered must be a part, never a new object. */
export function useSelected<Part>(select: (data: WindowData) => Part): Part {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.read()));
}

/** A part of what the companion says of itself, for what is only shown once it has spoken. */
export function useCompanionState<Part>(select: (state: CompanionState) => Part): Part {
  return useSelected(({ state }) => {
    if (state === null) throw new Error('The companion has not spoken yet.');
    return select(state);
  });
}

/** Name of the workspace, as the newest command since the pairing has it; null until the hub sent a command. */
export const useWorkspaceName = (): string | null =>
  useSelected(({ state, history }) => {
    const pairedAt = Date.parse(state?.paired?.pairedAt ?? '');
    const newest = history?.find(({ origin, time }) => origin !== null && Date.parse(time) > pairedAt);
    return newest?.origin?.workspace.name ?? null;
  });

export interface Action {
  /** Carries a operation out; answers whether it was. While one is under way others are ignored. */
  run: (operation: () => Promise<unknown>) => Promise<boolean>;
  isBusy: boolean;
  error: string | null;
  clear: () => void;
}

/** One place of the window from which the owner wishes something: its error stays there until the next try. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const run = useCallback(
    async (operation: () => Promise<unknown>) => {
      if (isBusy) return false;
      setBusy(true);
      try {
        await operation();
        setError(null);
        return true;
      } catch (thrown) {
        setError(rewordForOwner(thrown instanceof Error ? thrown.message : String(thrown)));
        return false;
      } finally {
        setBusy(false);
      }
    },
    [isBusy],
  );
  const clear = useCallback(() => setError(null), []);
  return { run, isBusy, error, clear };
}

/** The time, in milliseconds since 1970, at least so often anew. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const guardMs = 700;

/**
 * Whether a decision that just appeared may be taken: false for its first moments, and again for as long when the window comes back to the front,
 * so that a key or click that was meant for something else decides nothing.
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

/** Whether a media query holds. */
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
