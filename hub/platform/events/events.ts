import { z } from 'zod';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../observability/logger.ts';
import type { Secrets } from '../secrets/secrets.ts';

export type EventListener = (payload: JsonObject) => void;
/** Listens to all topics of a family. `rest` is the topic without the family prefix. */
export type FamilyListener = (rest: string, payload: JsonObject) => void;

/**
 * Live events between all hub processes. Events wake waiting code; they may be lost, so the state is always in the
 * database. Waiting code subscribes before it reads the state, and reads again after a deadline.
 */
export interface Events extends AsyncDisposable {
  /** Notifies local listeners immediately and the other processes soon. Reports no failure, because events may be lost. */
  publish(topic: string, payload: JsonObject): void;
  subscribe(topic: string, listener: EventListener): Disposable;
  /**
   * Subscribes to all topics that start with `family`, which ends with the first colon of the topic. Needs one map
   * entry for all topics.
   */
  subscribeFamily(family: string, listener: FamilyListener): Disposable;
  /** The listener is called when events may have been missed. Waiting code then reads the state again. */
  onReconnect(listener: () => void): Disposable;
  /** True while events of other processes may be lost. Waiting code then polls every second. */
  readonly isInterrupted: boolean;
}

/** Publishes events immediately (`Events`), or after its commit (`Transaction`). */
export type Publisher = Pick<Events, 'publish'>;

/**
 * NOTIFY carries less than 8,000 bytes. A larger event is sent without its payload, and the listener reads the state.
 */
const maxMessageBytes = 7_500;

/**
 * The content of a message between processes. Messages are encrypted and authenticated, because every user of the store
 * can listen and send on the channel, whatever other rights the user has.
 */
const envelope = z.object({
  from: z.uuid(),
  topic: z.string().min(1).max(200),
  payload: z.record(z.string(), z.unknown()),
});
export type Envelope = z.output<typeof envelope>;

const sealPurpose = 'event';

/** Creates the message of an event. A payload that is too large is left out. */
export function packEvent(secrets: Secrets, from: string, topic: string, payload: JsonObject): string {
  const pack = (content: JsonObject) =>
    `${from} ${secrets.seal(sealPurpose, JSON.stringify({ from, topic, payload: content }))}`;
  const message = pack(payload);
  return message.length <= maxMessageBytes ? message : pack({});
}

/** Opens a message. Returns null when no process of this installation sent it. */
export function unpackEvent(secrets: Secrets, text: string): Envelope | null {
  if (text.length > maxMessageBytes) return null;
  try {
    return envelope.safeParse(JSON.parse(secrets.open(sealPurpose, text.slice(text.indexOf(' ') + 1)))).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Local delivery for both adapters. Each topic needs one map entry. An error of a listener does not affect other
 * listeners.
 */
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

  /** Delivers and returns an event of another process. Ignores messages of this process and invalid messages. */
  receive(text: string, ownId: string): Envelope | null {
    // Most messages are those of this process, and are recognized without decryption.
    if (text.startsWith(ownId)) return null;
    const received = unpackEvent(this.#secrets, text);
    if (received === null)
      this.#logger.warn(
        { part: 'channel of the events', bytes: text.length },
        'ignored an invalid message on the channel of the events',
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
      this.#logger.error({ err: error }, 'an event listener failed');
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
  /** Interval of pings on the listening connection. */
  pingMs?: number;
  /** Time limit for the response to a ping. */
  pingDeadlineMs?: number;
  /** A process counts as present for this time after its last message. */
  presenceMs?: number;
  /** Time limit for other processes to respond to a presence request. */
  answerMs?: number;
}

export const defaultEventsOptions = { pingMs: 15_000, pingDeadlineMs: 5_000, presenceMs: 30_000, answerMs: 3_000 };
