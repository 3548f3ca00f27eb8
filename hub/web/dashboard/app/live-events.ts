import { background } from '../../../../shared/web/background.ts';
import type { StreamedEvent } from '../../../../shared/web/event-stream-parser.ts';
import { Store } from '../../../../shared/web/store.ts';
import { client } from './api.ts';
import { followStream } from './follow-stream.ts';

/** An event of the workspace as `GET /tenants/{tenantId}/events` sends it. Types are in the API reference. */
export interface WorkspaceEvent {
  type: string;
  at: string;
  id?: string;
  runId?: string;
  [field: string]: unknown;
}

type Listener = (events: readonly WorkspaceEvent[]) => void;

/** Events are passed on together, so that a burst renders the page at most ten times a second. */
const flushMs = 100;
/** A page that was hidden for longer is read again, which costs less than the events that it missed. */
const longPauseMs = 60_000;

/** Whether live events arrive. A page says so when they do not. */
export const liveState = new Store<{ isConnected: boolean }>({ isConnected: true });

/** Receives the events of a workspace while the page is visible. */
export class LiveEvents {
  readonly #listeners = new Set<Listener>();
  readonly #tenantId: string;
  #lastId = '';
  #waiting: WorkspaceEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  /** Starts to receive. @returns a function that stops it. */
  start(): () => void {
    const stop = new AbortController();
    const stream = {
      open: (signal: AbortSignal, hiddenMs: number) => {
        if (hiddenMs > longPauseMs) this.#lastId = '';
        const headers: Record<string, string> = this.#lastId === '' ? {} : { 'last-event-id': this.#lastId };
        return client.open('streamWorkspaceEvents', { params: { tenantId: this.#tenantId } }, { headers, signal });
      },
      onEvent: ({ data, id }: StreamedEvent) => {
        this.#lastId = id;
        this.#receive(JSON.parse(data) as WorkspaceEvent);
      },
      onConnected: (isConnected: boolean) => {
        if (liveState.state.isConnected !== isConnected) liveState.set({ isConnected });
      },
    };
    background(followStream(stream, stop.signal));
    return () => {
      stop.abort();
      clearTimeout(this.#timer);
    };
  }

  /** Calls the listener with each batch of events. @returns a function that removes it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #receive(event: WorkspaceEvent): void {
    this.#waiting.push(event);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const events = this.#waiting;
      this.#waiting = [];
      for (const listener of this.#listeners) listener(events);
    }, flushMs);
  }
}
