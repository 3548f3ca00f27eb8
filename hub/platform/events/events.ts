import { z } from 'zod';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../observability/logger.ts';
import type { Secrets } from '../secrets/secrets.ts';

export type EventListener = (payload: JsonObject) => void;
/** Hears of all topics that begin alike; `rest` is what comes after that. */
export type FamilyListener = (rest: string, payload: JsonObject) => void;

/**
 * Live events between all hub processes: they wake whoever waits, and carry nothing that must not be lost. Whoever waits
 * subscribes before it looks, and looks again after its deadline.
 */
export interface Events extends AsyncDisposable {
  /** Tells local listeners at once and the other processes soon. Never rejects: an event may be lost, its cause may not. */
  publish(topic: string, payload: JsonObject): Promise<void>;
  subscribe(topic: string, listener: EventListener): Disposable;
  /** Subscribes to all topics that begin with `family`, which ends in the first colon of each: one entry, however many there are. */
  subscribeFamily(family: string, listener: FamilyListener): Disposable;
  /** Calls the listener when events may have been missed, so that everything that waits looks again. */
  onReconnect(listener: () => void): Disposable;
  /** True while events of other processes may be lost: what waits for one should look every second. */
  readonly isInterrupted: boolean;
}

/** NOTIFY carries less than 8,000 bytes; what is larger goes without its payload, and its listener looks for itself. */
const maxMessageBytes = 7_500;

/** What an adapter carries between processes. Whoever may use the store may hear and send on its channel, whatever rights they have else: so it is sealed. */
const envelope = z.object({
  from: z.uuid(),
  topic: z.string().min(1).max(200),
  payload: z.record(z.string(), z.unknown()),
});
export type Envelope = z.output<typeof envelope>;

const sealPurpose = 'event';

/** The message that carries an event; one that is too large to carry wakes without its payload. */
export function packEvent(secrets: Secrets, from: string, topic: string, payload: JsonObject): string {
  const pack = (carried: JsonObject) =>
    `${from} ${secrets.seal(sealPurpose, JSON.stringify({ from, topic, payload: carried }))}`;
  const message = pack(payload);
  return message.length <= maxMessageBytes ? message : pack({});
}

/** What a message carries; null where no process of this installation sent it. */
export function unpackEvent(secrets: Secrets, text: string): Envelope | null {
  if (text.length > maxMessageBytes) return null;
  try {
    return envelope.safeParse(JSON.parse(secrets.open(sealPurpose, text.slice(text.indexOf(' ') + 1)))).data ?? null;
  } catch {
    return null;
  }
}

/** Local delivery, which both adapters share; thousands of topics cost a map entry each. What a listener throws reaches nobody else. */
export class LocalEvents {
  readonly #listeners = new Map<string, Set<EventListener>>();
  readonly #families = new Map<string, Set<FamilyListener>>();
  readonly #reconnect = new Set<() => void>();
  readonly #secrets: Secrets;
  readonly #logger: Logger;

  constructor(secrets: Secrets, logger: Logger) {
    this.#secrets = secrets;
    this.#logger = logger;
  }

  deliver(topic: string, payload: JsonObject): void {
    for (const listener of this.#listeners.get(topic) ?? []) this.#call(() => listener(payload));
    const end = topic.indexOf(':') + 1;
    for (const listener of this.#families.get(topic.slice(0, end)) ?? [])
      this.#call(() => listener(topic.slice(end), payload));
  }

  /** Delivers what another process sent, and answers it; ignores what this one did, and what is no event. */
  receive(text: string, ownId: string): Envelope | null {
    // What comes back of one's own is most of all, and need not be read.
    if (text.startsWith(ownId)) return null;
    const received = unpackEvent(this.#secrets, text);
    if (received === null)
      this.#logger.warn(
        { part: 'channel of the events', bytes: text.length },
        'a message that is no event was ignored',
      );
    else if (received.from !== ownId) {
      this.deliver(received.topic, received.payload as JsonObject);
      return received;
    }
    return null;
  }

  reconnected(): void {
    for (const listener of this.#reconnect) this.#call(listener);
  }

  subscribe(topic: string, listener: EventListener): Disposable {
    return addTo(this.#listeners, topic, listener);
  }

  subscribeFamily(family: string, listener: FamilyListener): Disposable {
    return addTo(this.#families, family, listener);
  }

  onReconnect(listener: () => void): Disposable {
    this.#reconnect.add(listener);
    return { [Symbol.dispose]: () => this.#reconnect.delete(listener) };
  }

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#logger.error({ err: error }, 'a listener of an event failed');
    }
  }
}

function addTo<Listener>(all: Map<string, Set<Listener>>, key: string, listener: Listener): Disposable {
  const listeners = all.get(key) ?? new Set();
  all.set(key, listeners);
  listeners.add(listener);
  return {
    [Symbol.dispose]: () => {
      listeners.delete(listener);
      if (listeners.size === 0 && all.get(key) === listeners) all.delete(key);
    },
  };
}

export interface EventsOptions {
  /** How often the connection that listens is asked whether it is still there, and how long it has to answer. */
  pingMs?: number;
  pingDeadlineMs?: number;
  /** For how long a process counts as there that was heard of, and one of which nobody knows yet has to answer, in milliseconds. */
  presenceMs?: number;
  answerMs?: number;
}

export const defaultEventsOptions = { pingMs: 15_000, pingDeadlineMs: 5_000, presenceMs: 30_000, answerMs: 3_000 };
