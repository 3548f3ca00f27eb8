import { useEffect, useState } from 'preact/hooks';

/** Holds the state of a page, and tells when it changed: once for all changes of a moment. */
export class Store<State extends object> {
  #state: State;
  #isTold = true;
  readonly #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  set(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change };
    if (!this.#isTold) return;
    this.#isTold = false;
    queueMicrotask(() => {
      this.#isTold = true;
      for (const listener of this.#listeners) listener();
    });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The state, in a part of the page that is drawn anew when it changed. */
export function useStore<State extends object>(store: Store<State>): State {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    setState(store.state);
    return store.subscribe(() => setState(store.state));
  }, [store]);
  return state;
}
