import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../observability/logger.ts';
import { background } from '../process/background.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { defaultEventsOptions, LocalEvents, packEvent } from './events.ts';
import type { Envelope, EventListener, Events, EventsOptions, FamilyListener } from './events.ts';

const channel = 'outrigger_events';
const reconnectMs = 250;
const batchSize = 100;
/** Maximum messages that are kept while the connection is lost. Beyond that, the oldest are dropped. */
const maxPendingMessages = 1_000;

/** Topic on which processes announce their presence and request that of others. */
const presenceTopic = 'hub-presence';

/**
 * Events over LISTEN and NOTIFY, for hub processes that share a database without Redis. A process that knows of no
 * other process sends no notifications. Each process announces its presence periodically, and immediately when another
 * process requests it.
 */
export class PostgresEvents implements Events {
  readonly #url: string;
  readonly #secrets: Secrets;
  readonly #logger: Logger;
  readonly #local: LocalEvents;
  readonly #options: Required<EventsOptions>;
  readonly #processId = randomUUID();
  #client: Client | undefined;
  #outgoing: string[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;
  #pingTimer: NodeJS.Timeout | undefined;
  readonly #renewal: NodeJS.Timeout;
  /** Time of the last presence announcement, by `performance.now()`. */
  #renewedAt = performance.now();
  /** Other processes may listen until this time, by `performance.now()`. */
  #othersUntil = 0;
  /**
   * Whether no process has responded to the presence request yet. Until then, other processes may have sent this
   * process nothing.
   */
  #isUnanswered = true;

  private constructor(url: string, secrets: Secrets, logger: Logger, options: EventsOptions) {
    this.#url = url;
    this.#secrets = secrets;
    this.#logger = logger;
    this.#local = new LocalEvents(secrets, logger);
    this.#options = { ...defaultEventsOptions, ...options };
    this.#renewal = setInterval(() => this.#renew(), this.#options.presenceMs / 3);
    this.#renewal.unref();
  }

  static async connect(
    url: string,
    secrets: Secrets,
    logger: Logger,
    options: EventsOptions = {},
  ): Promise<PostgresEvents> {
    const events = new PostgresEvents(url, secrets, logger, options);
    await events.#connect();
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
    return this.#client === undefined;
  }

  publish(topic: string, payload: JsonObject): void {
    this.#local.deliver(topic, payload);
    if (this.#closed || (performance.now() > this.#othersUntil && !this.#wasSuspended())) return;
    this.#send(topic, payload);
  }

  #send(topic: string, payload: JsonObject): void {
    if (this.#outgoing.push(packEvent(this.#secrets, this.#processId, topic, payload)) > maxPendingMessages)
      this.#outgoing.shift();
    this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#pingTimer);
    clearInterval(this.#renewal);
    await this.#flushing;
    if (this.#client !== undefined) await this.#end(this.#client);
  }

  #flush(): void {
    if (this.#flushing !== undefined) return;
    this.#flushing = this.#sendAll().finally(() => {
      this.#flushing = undefined;
      // More events may have been added while the last batch was sent.
      if (this.#outgoing.length > 0 && this.#client !== undefined && !this.#closed) this.#flush();
    });
    background(this.#flushing, this.#logger, 'sending events');
  }

  async #sendAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#outgoing.length > 0 && this.#client !== undefined) {
      const client = this.#client;
      const batch = this.#outgoing.splice(0, batchSize);
      try {
        await client.query('SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message', [channel, batch]);
      } catch (error) {
        this.#outgoing.unshift(...batch);
        this.#onConnectionLost(client, error);
      }
    }
  }

  async #connect(): Promise<void> {
    const { pingMs, pingDeadlineMs } = this.#options;
    const client = new Client({
      connectionString: this.#url,
      application_name: 'outrigger-events',
      keepAlive: true,
      connectionTimeoutMillis: 10_000,
      query_timeout: pingDeadlineMs,
    });
    client.on('error', (error) => this.#onConnectionLost(client, error));
    client.on('end', () => this.#onConnectionLost(client));
    client.on('notification', ({ payload }) => {
      const received = this.#local.receive(payload ?? '', this.#processId);
      if (received !== null) this.#onReceived(received);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      background(this.#end(client), this.#logger, 'closing the connection for events');
      throw error;
    }
    if (this.#closed) {
      await this.#end(client);
      return;
    }
    this.#client = client;
    this.#renewedAt = performance.now();
    this.#requestPresence();
    this.#pingLater(client, pingMs);
  }

  /**
   * Whether this process was suspended for so long that the presence of other processes, and its own, may have expired.
   */
  #wasSuspended(): boolean {
    return performance.now() - this.#renewedAt > this.#options.presenceMs / 2;
  }

  #renew(): void {
    const wasSuspended = this.#wasSuspended();
    this.#renewedAt = performance.now();
    if (wasSuspended) this.#requestPresence();
    else this.#announcePresence(false);
    // Other processes may have sent no notifications meanwhile.
    if (wasSuspended) this.#local.reconnected();
  }

  #requestPresence(): void {
    this.#othersUntil = Math.max(this.#othersUntil, performance.now() + this.#options.answerMs);
    this.#isUnanswered = true;
    this.#announcePresence(true);
  }

  /** @param asks whether other processes should announce their presence as well. */
  #announcePresence(asks: boolean): void {
    if (this.#client !== undefined && !this.#closed) this.#send(presenceTopic, { asks });
  }

  /** Any message shows that another process is present. */
  #onReceived({ topic, payload }: Envelope): void {
    this.#othersUntil = performance.now() + this.#options.presenceMs;
    if (topic === presenceTopic && payload['asks'] === true) this.#announcePresence(false);
    else if (this.#isUnanswered) {
      this.#isUnanswered = false;
      this.#local.reconnected();
    }
  }

  /**
   * Pings detect a connection that stops working without an error, for example when its server hangs or a router drops
   * its state.
   */
  #pingLater(client: Client, pingMs: number): void {
    this.#pingTimer = setTimeout(() => {
      client.query('SELECT 1').then(
        () => {
          if (this.#client === client && !this.#closed) this.#pingLater(client, pingMs);
        },
        (error: unknown) => this.#onConnectionLost(client, error),
      );
    }, pingMs);
  }

  #onConnectionLost(client: Client, error?: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#pingTimer);
    background(this.#end(client), this.#logger, 'closing the connection for events');
    this.#logger.warn(
      { part: 'database', ...(error === undefined ? {} : { err: error }) },
      'the connection for events was lost; connecting again',
    );
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#retry = setTimeout(() => {
      this.#connect().then(
        () => {
          if (this.#closed) return;
          this.#local.reconnected();
          this.#flush();
        },
        () => this.#closed || this.#reconnectLater(),
      );
    }, reconnectMs);
  }

  /** Closes a connection. It is destroyed when the server does not respond. */
  async #end(client: Client): Promise<void> {
    const timer = setTimeout(() => client.connection.stream.destroy(), this.#options.pingDeadlineMs);
    await client.end().catch(() => undefined);
    clearTimeout(timer);
  }
}
