import type { Clock } from '../../../platform/clock.ts';
import type { Egress, EgressConnection, EgressFailed } from '../../../platform/egress/egress.ts';
import { SipEndpoint } from '../sip/index.ts';
import type { SipAnswer, SipRequest } from '../sip/index.ts';
import { sipPort } from './service.ts';
import type { ClaimedTrunk } from './store.ts';

const connectTimeoutMs = 10_000;
/** NAT devices drop a silent UDP mapping after 30 s at the earliest, and a stream after minutes. */
const keepAliveMs = { udp: 25_000, tcp: 60_000, tls: 60_000 };

export interface TrunkConnectionOptions {
  egress: Egress;
  clock: Clock;
  /** Index of the resolved address to try first. */
  firstCandidate: number;
  signal: AbortSignal;
  answer: (request: SipRequest) => SipAnswer | Promise<SipAnswer>;
  /** Called when the connection is lost. */
  onLost: (reason: Error) => void;
}

/** A SIP connection to a carrier. It lasts until it is disposed or lost. */
export class TrunkConnection implements Disposable {
  readonly endpoint: SipEndpoint;
  readonly local: { address: string; port: number };
  readonly #connection: EgressConnection;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  #timer: Disposable | null = null;
  #isOver = false;

  private constructor(connection: EgressConnection, endpoint: SipEndpoint, clock: Clock, everyMs: number) {
    this.endpoint = endpoint;
    this.local = connection.local;
    this.#connection = connection;
    this.#clock = clock;
    this.#keepAliveMs = everyMs;
    this.#keepAlive();
  }

  /** @throws EgressRefused, EgressFailed, or the signal's reason. */
  static async open(trunk: ClaimedTrunk, options: TrunkConnectionOptions): Promise<TrunkConnection> {
    const { egress, clock, firstCandidate, signal, answer, onLost } = options;
    const { transport, host, port, local_port: localPort } = trunk;
    let opened: TrunkConnection | null = null;
    const lost = (reason: Error) => {
      if (opened === null || opened.#isOver) return;
      opened.endpoint.fail(reason);
      opened[Symbol.dispose]();
      onLost(reason);
    };
    const connection = await egress.connect({
      transport,
      host,
      port,
      service: transport === 'tls' ? '_sips._tcp' : `_sip._${transport}`,
      servicePort: sipPort(transport),
      firstCandidate,
      ...(localPort === null ? {} : { localPort }),
      signal,
      timeoutMs: connectTimeoutMs,
      onData: (bytes) => {
        try {
          opened?.endpoint.receive(bytes);
        } catch (error) {
          lost(error as Error);
        }
      },
      onFailed: (failure: EgressFailed) => lost(failure),
    });
    opened = new TrunkConnection(
      connection,
      new SipEndpoint({ transport, connection, clock, answer }),
      clock,
      keepAliveMs[transport],
    );
    return opened;
  }

  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    this.endpoint[Symbol.dispose]();
    this.#connection[Symbol.dispose]();
  }

  #keepAlive(): void {
    this.#timer = this.#clock.after(this.#keepAliveMs, () => {
      this.endpoint.keepAlive();
      this.#keepAlive();
    });
  }
}
