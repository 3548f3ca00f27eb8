import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../logger.ts';
import { LocalEvents } from './events.ts';
import type { Envelope, EventListener, Events } from './events.ts';

const channel = 'outrigger:events';

/** Events over Redis pub/sub, for many hub processes. */
export class RedisEvents implements Events {
  readonly #publisher: Redis;
  readonly #subscriber: Redis;
  readonly #logger: Logger;
  readonly #local = new LocalEvents();
  readonly #processId = randomUUID();

  private constructor(url: string, logger: Logger) {
    this.#logger = logger;
    this.#publisher = new Redis(url, { maxRetriesPerRequest: 1, lazyConnect: true });
    this.#subscriber = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true });
    for (const client of [this.#publisher, this.#subscriber]) client.on('error', (error: Error) => logger.warn({ err: error }, 'the Redis connection for events had an error'));
    this.#subscriber.on('message', (_channel: string, text: string) => {
      const envelope = JSON.parse(text) as Envelope & { from: string };
      if (envelope.from !== this.#processId) this.#local.deliver(envelope.topic, envelope.payload);
    });
  }

  static async connect(url: string, logger: Logger): Promise<RedisEvents> {
    const events = new RedisEvents(url, logger);
    await Promise.all([events.#publisher.connect(), events.#subscriber.connect()]);
    await events.#subscriber.subscribe(channel);
    events.#subscriber.on('ready', () => events.#local.reconnected());
    return events;
  }

  subscribe(topic: string, listener: EventListener): Disposable {
    return this.#local.subscribe(topic, listener);
  }

  onReconnect(listener: () => void): Disposable {
    return this.#local.onReconnect(listener);
  }

  async publish(topic: string, payload: JsonObject): Promise<void> {
    this.#local.deliver(topic, payload);
    try {
      await this.#publisher.publish(channel, JSON.stringify({ from: this.#processId, topic, payload }));
    } catch (error) {
      this.#logger.warn({ err: error }, 'an event did not reach the other processes');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#publisher.disconnect();
    this.#subscriber.disconnect();
  }
}
