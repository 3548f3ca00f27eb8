import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../observability/logger.ts';
import type { Secrets } from '../secrets/secrets.ts';
import { defaultEventsOptions, LocalEvents, packEvent } from './events.ts';
import type { Envelope, EventListener, Events, EventsOptions, FamilyListener } from './events.ts';

const channel = 'outrigger_events';
const reconnectMs = 250;
const batchSize = 100;
/** Events that wait for the connection to come back; beyond, the oldest are lost. */
const maxPendingMessages = 1_000;

/** Topic on which processes say that they are there, and ask who else is. */
const presenceTopic = 'hub-presence';

/**
 * Events over LISTEN and NOTIFY, for hub processes that share a database and no Redis. A process that is alone notifies nobody: each says
 * from time to time that it listens, and at once to whoever asks.
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
  #beat: NodeJS.Timeout | undefined;
  readonly #renewal: NodeJS.Timeout;
  /** When this process last said that it is there, by `performance.now()`. */
  #renewedAt = performance.now();
  /** Until when somebody else may listen, by `performance.now()`. */
  #othersUntil = 0;
  /** Whether nobody answered yet since it was asked who is there: who did not know of this process may have told it nothing. */
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

  async publish(topic: string, payload: JsonObject): Promise<void> {
    this.#local.deliver(topic, payload);
    if (this.#closed || (performance.now() > this.#othersUntil && !this.#stoodStill())) return;
    await this.#send(topic, payload);
  }

  async #send(topic: string, payload: JsonObject): Promise<void> {
    if (this.#outgoing.push(packEvent(this.#secrets, this.#processId, topic, payload)) > maxPendingMessages)
      this.#outgoing.shift();
    await this.#flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#beat);
    clearInterval(this.#renewal);
    await this.#flushing;
    if (this.#client !== undefined) await this.#end(this.#client);
  }

  #flush(): Promise<void> {
    this.#flushing ??= this.#sendAll().finally(() => {
      this.#flushing = undefined;
      // What was told of while the last batch settled.
      if (this.#outgoing.length > 0 && this.#client !== undefined && !this.#closed) void this.#flush();
    });
    return this.#flushing;
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
        this.#lost(client, error);
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
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ payload }) => {
      const received = this.#local.receive(payload ?? '', this.#processId);
      if (received !== null) this.#heardOther(received);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      void this.#end(client);
      throw error;
    }
    if (this.#closed) {
      await this.#end(client);
      return;
    }
    this.#client = client;
    this.#renewedAt = performance.now();
    this.#askWhoIsThere();
    this.#beat = setTimeout(() => void this.#askAgain(client), pingMs);
  }

  /** Whether this process did nothing for so long that it knows nothing of the others, nor they of it. */
  #stoodStill(): boolean {
    return performance.now() - this.#renewedAt > this.#options.presenceMs / 2;
  }

  #renew(): void {
    const stoodStill = this.#stoodStill();
    this.#renewedAt = performance.now();
    if (stoodStill) this.#askWhoIsThere();
    else this.#sayPresent(false);
    // What others told of meanwhile they may have told nobody.
    if (stoodStill) this.#local.reconnected();
  }

  #askWhoIsThere(): void {
    this.#othersUntil = Math.max(this.#othersUntil, performance.now() + this.#options.answerMs);
    this.#isUnanswered = true;
    this.#sayPresent(true);
  }

  #sayPresent(asks: boolean): void {
    if (this.#client !== undefined && !this.#closed) void this.#send(presenceTopic, { asks });
  }

  /** Another process is there, whatever it says. */
  #heardOther({ topic, payload }: Envelope): void {
    this.#othersUntil = performance.now() + this.#options.presenceMs;
    if (topic === presenceTopic && payload['asks'] === true) this.#sayPresent(false);
    else if (this.#isUnanswered) {
      this.#isUnanswered = false;
      this.#local.reconnected();
    }
  }

  /** A connection may fall silent without ending: its server is stopped, or a router forgot it. Nothing comes in then, so it has to be asked. */
  async #askAgain(client: Client): Promise<void> {
    try {
      await client.query('SELECT 1');
      if (this.#client === client && !this.#closed)
        this.#beat = setTimeout(() => void this.#askAgain(client), this.#options.pingMs);
    } catch (error) {
      this.#lost(client, error);
    }
  }

  #lost(client: Client, error?: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    clearTimeout(this.#beat);
    void this.#end(client);
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
          void this.#flush();
        },
        () => this.#closed || this.#reconnectLater(),
      );
    }, reconnectMs);
  }

  /** Closes a connection; one that does not answer is cut. */
  async #end(client: Client): Promise<void> {
    const cut = setTimeout(() => client.connection.stream.destroy(), this.#options.pingDeadlineMs);
    await client.end().catch(() => undefined);
    clearTimeout(cut);
  }
}
