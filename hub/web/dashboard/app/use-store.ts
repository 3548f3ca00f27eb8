import { useSyncExternalStore } from 'react';
import type { Store } from '../../../../shared/web/store.ts';

/** Returns the state of a store, and renders again when it changes. */
export function useStore<State extends object>(store: Store<State>): State {
  return useSyncExternalStore(
    (listener) => store.subscribe(listener),
    () => store.state,
  );
}
