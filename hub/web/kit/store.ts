import { useEffect, useState } from 'preact/hooks';
import type { Store } from '../../../shared/web/store.ts';

/** Returns the state of a store and renders the calling component again after each change. */
export function useStore<State extends object>(store: Store<State>): State {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    setState(store.state);
    return store.subscribe(() => setState(store.state));
  }, [store]);
  return state;
}
