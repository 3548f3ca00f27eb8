import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { Clock } from '../../../platform/clock.ts';
import { ClientTransaction } from './client-transaction.ts';
import { listOf, parseVia } from './header-values.ts';
import { headerOf, parseMessage, SipSyntaxError, writeMessage } from './message.ts';
import type { SipHeaders, SipMessage, SipRequest, SipResponse } from './message.ts';
import { ServerTransactions } from './server-transactions.ts';
import type { SipAnswer } from './server-transactions.ts';
import { StreamFraming } from './stream-framing.ts';

export type SipTransport = 'udp' | 'tcp' | 'tls';

/** A connection that SIP is spoken on: datagrams to and from one address, or a stream. */
export interface SipConnection {
  readonly local: { address: string; port: number };
  readonly remote: { address: string; port: number };
  send(bytes: Uint8Array): void;
}

export interface SipEndpointOptions {
  transport: SipTransport;
  connection: SipConnection;
  clock: Clock;
  /** Answers requests of the other side, each once. */
  answer: (request: SipRequest) => SipAnswer | Promise<SipAnswer>;
}

export const hostPort = ({ address, port }: { address: string; port: number }): string =>
  `${isIPv6(address) ? `[${address}]` : address}:${port}`;

/** Messages that one connection may bring: reading them is work that nobody asked for. */
export const maxMessagesPerSecond = 1_000;
const ping = Buffer.from('\r\n\r\n');
const pong = Buffer.from('\r\n');

/** Speaks SIP on one connection: its transactions on both sides, bounded, whatever comes. */
export class SipEndpoint implements Disposable {
  readonly #options: SipEndpointOptions;
  readonly #isReliable: boolean;
  readonly #framing = new StreamFraming();
  readonly #servers: ServerTransactions;
  readonly #clients = new Map<string, { method: string; transaction: ClientTransaction }>();
  #end: Error | null = null;
  #secondBeganAt = 0;
  #cameInSecond = 0;

  constructor(options: SipEndpointOptions) {
    this.#options = options;
    const { clock, connection, answer } = options;
    this.#isReliable = options.transport !== 'udp';
    this.#servers = new ServerTransactions({
      clock,
      answer,
      isReliable: this.#isReliable,
      remote: connection.remote,
      send: (bytes) => connection.send(bytes),
    });
  }

  /**
   * Takes what came: a datagram, or more of the stream.
   * @throws SipSyntaxError for a stream that can't be understood any more, or that brings too much; a datagram is dropped.
   */
  receive(bytes: Uint8Array): void {
    if (this.#end !== null) return;
    if (this.#isReliable) {
      const { messages, pings } = this.#framing.push(bytes);
      if (!this.#admits(messages.length)) throw new SipSyntaxError('too many messages came within a second');
      if (pings > 0) this.#options.connection.send(pong);
      for (const message of messages) this.#dispatch(message);
      return;
    }
    if (!this.#admits(1)) return;
    let message: SipMessage;
    try {
      message = parseMessage(bytes);
    } catch (error) {
      if (error instanceof SipSyntaxError) return;
      throw error;
    }
    this.#dispatch(message);
  }

  /**
   * Sends a request, in a transaction of its own, and answers what is answered finally.
   * @param headers without Via, Max-Forwards and Content-Length.
   * @throws SipTimeout, the reason of `fail`, or the signal's.
   */
  async request(method: string, uri: string, headers: SipHeaders, signal: AbortSignal): Promise<SipResponse> {
    signal.throwIfAborted();
    if (this.#end !== null) throw this.#end;
    const { connection, clock, transport } = this.#options;
    const branch = `z9hG4bK${randomBytes(12).toString('hex')}`;
    const bytes = writeMessage({
      method,
      uri,
      headers: [
        ['Via', `SIP/2.0/${transport.toUpperCase()} ${hostPort(connection.local)};branch=${branch};rport`],
        ['Max-Forwards', '70'],
        ...headers,
      ],
    });
    const transaction = new ClientTransaction({
      clock,
      isReliable: this.#isReliable,
      send: () => connection.send(bytes),
    });
    this.#clients.set(branch, { method, transaction });
    const onAbort = () => transaction.fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await transaction.answer;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#clients.delete(branch);
    }
  }

  /** Keeps what lies between, such as an address translation, from forgetting the connection. */
  keepAlive(): void {
    if (this.#end === null) this.#options.connection.send(ping);
  }

  /** Ends the requests that are under way: the connection said that nobody is there. Others may follow, over udp. */
  fail(reason: Error): void {
    for (const { transaction } of this.#clients.values()) transaction.fail(reason);
  }

  [Symbol.dispose](): void {
    this.#end ??= new Error('the SIP endpoint was closed');
    this.fail(this.#end);
    this.#servers[Symbol.dispose]();
  }

  /** Whether so many messages more may come in this second. */
  #admits(count: number): boolean {
    const now = this.#options.clock.now();
    if (now - this.#secondBeganAt >= 1_000) {
      this.#secondBeganAt = now;
      this.#cameInSecond = 0;
    }
    this.#cameInSecond += count;
    return this.#cameInSecond <= maxMessagesPerSecond;
  }

  #dispatch(message: SipMessage): void {
    if (message.kind === 'request') {
      this.#servers.receive(message);
      return;
    }
    const branch = parseVia(listOf(message, 'via')[0] ?? '')?.parameters.get('branch') ?? '';
    const client = this.#clients.get(branch);
    const method = headerOf(message, 'cseq')?.split(/\s+/)[1];
    if (client !== undefined && client.method === method) client.transaction.receive(message);
  }
}
