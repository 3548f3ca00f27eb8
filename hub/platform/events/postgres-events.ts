import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../logger.ts';
import { LocalEvents } from './events.ts';
import type { Envelope, EventListener, Events } from './events.ts';

const channel = 'outrigger_events';
/** NOTIFY carries less than 8,000 bytes; what is larger goes without its payload, and its listener looks for itself. */
const maxPayloadBytes = 7_500;
const reconnectMs = 250;

/** Events over LISTEN and NOTIFY, for hub processes that share a database and no Redis. */
export class PostgresEvents implements Events {
  readonly #url: string;
  readonly #logger: Logger;
  readonly #local = new LocalEvents();
  readonly #processId = randomUUID();
  #client: Client | undefined;
  #outgoing: string[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;
  #retry: NodeJS.Timeout | undefined;

  private constructor(url: string, logger: Logger) {
    this.#url = url;
    this.#logger = logger;
  }

  static async connect(url: string, logger: Logger): Promise<PostgresEvents> {
    const events = new PostgresEvents(url, logger);
    await events.#connect();
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
    if (this.#closed) return;
    const message = JSON.stringify({ from: this.#processId, topic, payload });
    this.#outgoing.push(Buffer.byteLength(message) <= maxPayloadBytes ? message : JSON.stringify({ from: this.#processId, topic, payload: {} }));
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    await this.#flushing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#flushing;
    await this.#client?.end().catch(() => undefined);
  }

  async #flush(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#outgoing.length > 0) {
      const batch = this.#outgoing.splice(0, 100);
      try {
        await this.#client?.query('SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message', [channel, batch]);
      } catch (error) {
        this.#logger.warn({ err: error, events: batch.length }, 'events did not reach the other processes');
      }
    }
  }

  async #connect(): Promise<void> {
    const client = new Client({ connectionString: this.#url, application_name: 'outrigger-events', keepAlive: true, connectionTimeoutMillis: 10_000 });
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
    await client.connect();
    await client.query(`LISTEN ${channel}`);
    this.#client = client;
  }

  #receive(text: string): void {
    const envelope = JSON.parse(text) as Envelope & { from: string };
    if (envelope.from !== this.#processId) this.#local.deliver(envelope.topic, envelope.payload);
  }

  #lost(client: Client): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    this.#logger.warn('the connection for events was lost; connecting again');
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#retry = setTimeout(() => {
      this.#connect().then(
        () => this.#local.reconnected(),
        () => this.#closed || this.#reconnectLater(),
      );
    }, reconnectMs);
  }
}
