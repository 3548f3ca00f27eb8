import type { JsonObject } from '../../../shared/json.ts';

export type EventListener = (payload: JsonObject) => void;

/**
 * Live events between all hub processes: they wake whoever waits, and carry nothing that must not be lost. Whoever waits
 * subscribes before it looks, and looks again after its deadline.
 */
export interface Events extends AsyncDisposable {
  /** Tells local listeners at once and the other processes soon. Never rejects: an event may be lost, its cause may not. */
  publish(topic: string, payload: JsonObject): Promise<void>;
  subscribe(topic: string, listener: EventListener): Disposable;
  /** Hears when events may have been missed, so that whoever waits looks again. */
  onReconnect(listener: () => void): Disposable;
}

/** What an adapter carries between processes. */
export interface Envelope {
  topic: string;
  payload: JsonObject;
}

/** Local delivery, which both adapters share; thousands of topics cost a map entry each. */
export class LocalEvents {
  readonly #listeners = new Map<string, Set<EventListener>>();
  readonly #reconnect = new Set<() => void>();

  deliver(topic: string, payload: JsonObject): void {
    for (const listener of this.#listeners.get(topic) ?? []) listener(payload);
  }

  reconnected(): void {
    for (const listener of this.#reconnect) listener();
  }

  subscribe(topic: string, listener: EventListener): Disposable {
    let listeners = this.#listeners.get(topic);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(topic, listeners);
    }
    listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
      },
    };
  }

  onReconnect(listener: () => void): Disposable {
    this.#reconnect.add(listener);
    return { [Symbol.dispose]: () => this.#reconnect.delete(listener) };
  }
}
