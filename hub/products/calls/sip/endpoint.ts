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

/** A transport for SIP: UDP datagrams with one remote address, or a TCP or TLS stream. */
export interface SipConnection {
  readonly local: { address: string; port: number };
  readonly remote: { address: string; port: number };
  send(bytes: Uint8Array): void;
}

export interface SipEndpointOptions {
  transport: SipTransport;
  connection: SipConnection;
  clock: Clock;
  /** Returns the response to a request of the remote side. Called once per request. */
  answer: (request: SipRequest) => SipAnswer | Promise<SipAnswer>;
}

export const hostPort = ({ address, port }: { address: string; port: number }): string =>
  `${isIPv6(address) ? `[${address}]` : address}:${port}`;

/** Received messages per second and connection. The limit bounds the parsing work. */
export const maxMessagesPerSecond = 1_000;
const ping = Buffer.from('\r\n\r\n');
const pong = Buffer.from('\r\n');

/**
 * SIP endpoint of one connection, with its client and server transactions. The number of transactions and messages is
 * bounded.
 */
export class SipEndpoint implements Disposable {
  readonly #options: SipEndpointOptions;
  readonly #isReliable: boolean;
  readonly #framing = new StreamFraming();
  readonly #servers: ServerTransactions;
  readonly #clients = new Map<string, { method: string; transaction: ClientTransaction }>();
  #end: Error | null = null;
  #secondStart = 0;
  #receivedInSecond = 0;

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
   * Receives a datagram or the next bytes of a stream. Invalid datagrams are dropped.
   * @throws SipSyntaxError if the stream is invalid or exceeds the message rate.
   */
  receive(bytes: Uint8Array): void {
    if (this.#end !== null) return;
    if (this.#isReliable) {
      const { messages, pings } = this.#framing.push(bytes);
      if (!this.#admits(messages.length))
        throw new SipSyntaxError('the remote side sends too many messages per second');
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
   * Sends a request in a new transaction and returns the final response.
   * @param headers all headers except Via, Max-Forwards and Content-Length.
   * @throws SipTimeout, the reason passed to `fail`, or the reason of the signal.
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

  /** Sends a keep-alive, so that NAT devices keep the mapping of the connection. */
  keepAlive(): void {
    if (this.#end === null) this.#options.connection.send(ping);
  }

  /** Fails all pending requests after a transport error. UDP connections accept new requests afterwards. */
  fail(reason: Error): void {
    for (const { transaction } of this.#clients.values()) transaction.fail(reason);
  }

  [Symbol.dispose](): void {
    this.#end ??= new Error('the SIP endpoint was closed');
    this.fail(this.#end);
    this.#servers[Symbol.dispose]();
  }

  /** Whether the rate limit admits `count` more messages in this second. */
  #admits(count: number): boolean {
    const now = this.#options.clock.now();
    if (now - this.#secondStart >= 1_000) {
      this.#secondStart = now;
      this.#receivedInSecond = 0;
    }
    this.#receivedInSecond += count;
    return this.#receivedInSecond <= maxMessagesPerSecond;
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
