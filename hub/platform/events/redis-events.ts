import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { JsonObject } from '../../../shared/json.ts';
import { connectRedis } from '../connect-redis.ts';
import type { Logger } from '../observability/logger.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { defaultEventsOptions, LocalEvents, packEvent } from './events.ts';
import type { EventListener, Events, EventsOptions, FamilyListener } from './events.ts';

const channel = 'outrigger:events';
/**
 * A process publishes this topic after it has lost events of its own. The other processes then call their `onReconnect`
 * listeners.
 */
const lostTopic = 'hub-events-lost';

/** Events over Redis pub/sub, for many hub processes. */
export class RedisEvents implements Events {
  readonly #publisher: Redis;
  readonly #subscriber: Redis;
  readonly #secrets: Secrets;
  readonly #logger: Logger;
  readonly #local: LocalEvents;
  readonly #processId = randomUUID();
  #pingTimer: NodeJS.Timeout | undefined;
  #isSubscribed = false;
  /** Whether an event was lost since `lostTopic` was last published. */
  #hasLost = false;

  private constructor(url: string, secrets: Secrets, logger: Logger, { pingDeadlineMs }: Required<EventsOptions>) {
    this.#secrets = secrets;
    this.#logger = logger;
    this.#local = new LocalEvents(secrets, logger);
    // Publishing must not wait for an unavailable Redis.
    this.#publisher = new Redis(url, {
      maxRetriesPerRequest: 1,
      lazyConnect: true,
      enableOfflineQueue: false,
      commandTimeout: pingDeadlineMs,
    });
    // `autoResubscribe` is off because its errors cannot be caught, for example when this object is disposed meanwhile.
    this.#subscriber = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true, autoResubscribe: false });
    this.#subscriber.on('message', (_channel: string, text: string) => {
      if (this.#local.receive(text, this.#processId)?.topic === lostTopic) this.#local.reconnected();
    });
    this.#subscriber.on('close', () => (this.#isSubscribed = false));
  }

  static async connect(
    url: string,
    secrets: Secrets,
    logger: Logger,
    options: EventsOptions = {},
  ): Promise<RedisEvents> {
    const ping = { ...defaultEventsOptions, ...options };
    const events = new RedisEvents(url, secrets, logger, ping);
    try {
      const onError = (error: Error) =>
        logger.warn({ err: error, part: 'redis' }, 'the Redis connection for events had an error');
      await Promise.all([connectRedis(events.#publisher, onError), connectRedis(events.#subscriber, onError)]);
      await events.#subscribe();
    } catch (error) {
      await events[Symbol.asyncDispose]();
      throw error;
    }
    // Listeners are notified after the channel is subscribed again, so that no event is missed after they read the
    // state.
    events.#subscriber.on('ready', () => {
      events.#subscribe().then(
        () => events.#local.reconnected(),
        // The connection was lost meanwhile; the next one subscribes again.
        () => undefined,
      );
    });
    events.#publisher.on('ready', () => events.#publishLost());
    events.#startPings(ping);
    return events;
  }

  subscribe(topic: string, listener: EventListener): Disposable {
    return this.#local.subscribe(topic, listener);
  }

  subscribeFamily(family: string, listener: FamilyListener): Disposable {
    return this.#local.subscribeFamily(family, listener);
  }

  onReconnect(listener: () => void): Disposable {
    return this.#local.onReconnect(listener);
  }

  get isInterrupted(): boolean {
    return !this.#isSubscribed || this.#publisher.status !== 'ready';
  }

  publish(topic: string, payload: JsonObject): void {
    this.#local.deliver(topic, payload);
    this.#publisher
      .publish(channel, packEvent(this.#secrets, this.#processId, topic, payload))
      .catch((error: unknown) => {
        this.#hasLost = true;
        this.#logger.warn({ err: error, part: 'redis' }, 'an event did not reach the other processes');
      });
  }

  /**
   * Publishes `lostTopic` when Redis is available again. The connections of the other processes may never have been
   * lost.
   */
  #publishLost(): void {
    if (!this.#hasLost || this.#publisher.status !== 'ready') return;
    this.#hasLost = false;
    this.#publisher.publish(channel, packEvent(this.#secrets, this.#processId, lostTopic, {})).catch(() => {
      this.#hasLost = true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#pingTimer);
    this.#publisher.disconnect();
    this.#subscriber.disconnect();
  }

  async #subscribe(): Promise<void> {
    await this.#subscriber.subscribe(channel);
    this.#isSubscribed = true;
  }

  /** Pings detect connections that stop working without an error. Such a connection is replaced. */
  #startPings({ pingMs, pingDeadlineMs }: Required<EventsOptions>): void {
    this.#pingTimer = setInterval(() => {
      this.#publishLost();
      for (const client of [this.#publisher, this.#subscriber]) {
        if (client.status !== 'ready') continue;
        const late = setTimeout(() => {
          this.#logger.warn({ part: 'redis' }, 'the connection for events was lost: no response; connecting again');
          client.disconnect(true);
        }, pingDeadlineMs);
        client
          .ping()
          .catch(() => undefined)
          .finally(() => clearTimeout(late));
      }
    }, pingMs);
  }
}
