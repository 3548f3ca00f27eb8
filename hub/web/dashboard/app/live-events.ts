import { background } from '../../../../shared/web/background.ts';
import { createEventStreamParser } from '../../../../shared/web/event-stream-parser.ts';
import { readTextPieces } from '../../../../shared/web/response-text.ts';
import { Store } from '../../../../shared/web/store.ts';
import { client, retryDelay } from './api.ts';
import { noteFailure } from './session-state.ts';

/** An event of the workspace as `GET /tenants/{tenantId}/events` sends it. Types are in the API reference. */
export interface WorkspaceEvent {
  type: string;
  at: string;
  id?: string;
  runId?: string;
  [field: string]: unknown;
}

type Listener = (events: readonly WorkspaceEvent[]) => void;
/** What the tab with the stream sends to the other tabs. */
type Shared = { event: WorkspaceEvent; id: string } | { isConnected: boolean };

const channelName = 'outrigger-workspace-events';
/** Events are passed on together, so that a burst renders the page at most ten times a second. */
const flushMs = 100;
/** A stream that sends nothing for this time is considered broken: the hub sends a comment every 15 seconds. */
const silenceMs = 45_000;

/** Least time between two streams. */
const minPauseMs = 1_000;

/** Whether live events arrive. A page says so when they do not. */
export const liveState = new Store<{ isConnected: boolean }>({ isConnected: true });

/**
 * Receives the events of a workspace for all tabs of the browser through one stream. The tab that has the lock reads the
 * stream and sends each event to the other tabs. When that tab closes, another one continues after the last event.
 * Browsers offer the lock only on https and localhost; elsewhere each tab reads its own stream.
 */
export class LiveEvents {
  readonly #listeners = new Set<Listener>();
  readonly #tenantId: string;
  readonly #channel: BroadcastChannel;
  readonly #stop = new AbortController();
  #lastId = '';
  #waiting: WorkspaceEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
    this.#channel = new BroadcastChannel(`${channelName}-${tenantId}`);
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Shared>) => this.#receive(data));
  }

  /** Starts to receive. @returns a function that stops it. */
  start(): () => void {
    const { signal } = this.#stop;
    // Not every browser context has locks, whatever the types say.
    const locks = navigator.locks as LockManager | undefined;
    const name = `${channelName}-${this.#tenantId}`;
    const reading =
      locks === undefined
        ? this.#readAgainAndAgain()
        : locks.request(name, { signal }, () => this.#readAgainAndAgain());
    background(
      reading.then(undefined, (error: unknown) => (signal.aborted ? undefined : Promise.reject(error as Error))),
    );
    return () => {
      this.#stop.abort();
      clearTimeout(this.#timer);
      this.#channel.close();
    };
  }

  /** Calls the listener with each batch of events. @returns a function that removes it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #share(message: Shared): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel reaches only its own origin.
    this.#channel.postMessage(message);
    this.#receive(message);
  }

  #receive(message: Shared): void {
    if ('isConnected' in message) {
      if (liveState.state.isConnected !== message.isConnected) liveState.set(message);
      return;
    }
    this.#lastId = message.id;
    this.#waiting.push(message.event);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const events = this.#waiting;
      this.#waiting = [];
      for (const listener of this.#listeners) listener(events);
    }, flushMs);
  }

  async #readAgainAndAgain(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted;) {
      // Streams that end immediately, such as behind a proxy, are not opened in a loop.
      let delayMs = minPauseMs;
      try {
        await this.#read(() => (failures = 0));
      } catch (error) {
        if (signal.aborted) return;
        noteFailure(error);
        this.#share({ isConnected: false });
        delayMs = Math.max(minPauseMs, retryDelay(failures, error));
        failures += 1;
      }
      await new Promise<void>((done) => {
        setTimeout(done, delayMs);
        signal.addEventListener('abort', () => done(), { once: true });
      });
    }
  }

  /** Reads one stream until it ends: after 10 minutes, or when the hub restarts. */
  async #read(onOpen: () => void): Promise<void> {
    const aborter = new AbortController();
    const stop = () => aborter.abort();
    this.#stop.signal.addEventListener('abort', stop, { once: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const noteSign = () => {
      clearTimeout(timer);
      timer = setTimeout(() => aborter.abort(new TypeError('The stream is silent.')), silenceMs);
    };
    noteSign();
    try {
      const response = await client.open(
        'streamWorkspaceEvents',
        { params: { tenantId: this.#tenantId } },
        {
          headers: this.#lastId === '' ? {} : { 'last-event-id': this.#lastId },
          signal: aborter.signal,
        },
      );
      onOpen();
      this.#share({ isConnected: true });
      const parse = createEventStreamParser(({ data, id }) =>
        this.#share({ event: JSON.parse(data) as WorkspaceEvent, id }),
      );
      await readTextPieces(response, (text) => {
        noteSign();
        parse(text);
      });
    } finally {
      clearTimeout(timer);
      this.#stop.signal.removeEventListener('abort', stop);
    }
  }
}
