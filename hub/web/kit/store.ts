import { useEffect, useState } from 'preact/hooks';
import type { Store } from '../../../shared/web/store.ts';

/** The state of a store; the component that calls it renders again after each change. */
export function useStore<State extends object>(store: Store<State>): State {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    setState(store.state);
    return store.subscribe(() => setState(store.state));
  }, [store]);
  return state;
}
