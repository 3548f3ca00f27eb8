import { createSocket } from 'node:dgram';
import type { SrvRecord } from 'node:dns';
import { resolveSrv as resolveSrvBySystem } from 'node:dns/promises';
import { connect as connectTcp, isIP } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import { EgressFailed, EgressRefused, toEgressFailed } from './failure.ts';
import type { Guard } from './guard.ts';

/** A connection to open. All times are in milliseconds. */
export interface EgressConnectRequest {
  transport: 'udp' | 'tcp' | 'tls';
  host: string;
  /** Null to use the SRV records of `service`, or the host itself at `servicePort` when it has none. */
  port: number | null;
  /** SRV service, such as `_sip._udp`. */
  service: string;
  servicePort: number;
  /** Index of the candidate address to try first, so that a retry can begin with another one. */
  firstCandidate: number;
  /** Preferred local port, for UDP only. Another port is used when it is in use. */
  localPort?: number;
  signal: AbortSignal;
  timeoutMs: number;
  onData: (bytes: Buffer) => void;
  /** Called once when a stream ends, and for each datagram that the peer refuses. Not called after disposal. */
  onFailed: (failure: EgressFailed) => void;
}

/** A connection to one address that passed the guard. */
export interface EgressConnection extends Disposable {
  readonly local: { address: string; port: number };
  readonly remote: { address: string; port: number };
  /** Sends a datagram, or bytes of the stream. Data that can't be sent is dropped. */
  send(bytes: Uint8Array): void;
}

export type ResolveSrv = (name: string) => Promise<SrvRecord[]>;

/** Unsent bytes of a stream at which the connection is closed. */
const maxUnsentBytes = 1024 * 1024;
const maxCandidates = 8;
const srvTimeoutMs = 3_000;
/** How long a closed stream may take to send its last bytes, in milliseconds. */
const shutdownFlushMs = 2_000;

interface Candidate {
  host: string;
  address: string;
  family: number;
  port: number;
}

/**
 * Opens connections for protocols other than HTTP. The host, or each host of a service, is resolved once; all addresses
 * are checked, and the connection uses one of them. TLS verifies the requested name, not the name of an SRV target (RFC
 * 5922).
 */
export function createConnections(guard: Guard, resolveSrv: ResolveSrv = resolveSrvBySystem) {
  const findCandidates = async (
    { host, port, service, servicePort }: EgressConnectRequest,
    signal: AbortSignal,
  ): Promise<Candidate[]> => {
    const targets = port === null && isIP(host) === 0 ? await srvTargets(resolveSrv, `${service}.${host}`) : [];
    const named = targets.length > 0 ? targets : [{ host, port: port ?? servicePort }];
    const found: Candidate[] = [];
    // The owner of the name controls the number of SRV records, so it is limited.
    for (const target of named.slice(0, maxCandidates)) {
      signal.throwIfAborted();
      for (const { address, family } of await guard.resolve(target.host, target.port))
        found.push({ host: target.host, address, family, port: target.port });
    }
    return found.slice(0, maxCandidates);
  };

  return {
    /** @throws EgressRefused, EgressFailed, or the signal's reason. */
    async connect(request: EgressConnectRequest): Promise<EgressConnection> {
      const timeout = AbortSignal.timeout(request.timeoutMs);
      const signal = AbortSignal.any([request.signal, timeout]);
      const { host, transport, firstCandidate } = request;
      try {
        const candidates = await raceAbort(findCandidates(request, signal), signal);
        let last: unknown;
        for (let index = 0; index < candidates.length; index += 1) {
          const candidate = candidates[(index + firstCandidate) % candidates.length] as Candidate;
          try {
            return await (transport === 'udp'
              ? openDatagrams(candidate, request, signal)
              : openStream(candidate, request, signal));
          } catch (error) {
            signal.throwIfAborted();
            last = error;
          }
        }
        throw last ?? new EgressFailed(`${host} has no addresses.`, { failure: 'unresolved' });
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason;
        if (error instanceof EgressRefused || error instanceof EgressFailed) throw error;
        if (timeout.aborted)
          throw new EgressFailed(`${host} did not accept the connection within ${request.timeoutMs / 1000} s.`, {
            failure: 'connect_timeout',
            cause: error,
          });
        throw toEgressFailed(error, host);
      }
    },
  };
}

/** The hosts of a service by priority and weight; empty when the DNS has none or does not answer in time. */
async function srvTargets(resolveSrv: ResolveSrv, name: string): Promise<{ host: string; port: number }[]> {
  const records = await raceAbort(resolveSrv(name), AbortSignal.timeout(srvTimeoutMs)).catch(() => []);
  return records
    .filter(({ name: target }) => target !== '' && target !== '.')
    .toSorted((one, other) => one.priority - other.priority || other.weight - one.weight)
    .map(({ name: target, port }) => ({ host: target, port }));
}

async function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // After an abort the result is unused, and its rejection must not be unhandled.
  work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function openDatagrams(
  { address, family, port, host }: Candidate,
  { localPort = 0, onData, onFailed }: EgressConnectRequest,
  signal: AbortSignal,
): Promise<EgressConnection> {
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  const settled = <Event extends string>(event: Event, act: () => void) =>
    new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.once(event, () => {
        socket.off('error', reject);
        resolve();
      });
      act();
    });
  try {
    await raceAbort(
      settled('listening', () => socket.bind(localPort)).catch((error: unknown) => {
        if (localPort === 0) throw error;
        return settled('listening', () => socket.bind(0));
      }),
      signal,
    );
    await raceAbort(
      settled('connect', () => socket.connect(port, address)),
      signal,
    );
  } catch (error) {
    socket.close();
    throw error;
  }
  let isOpen = true;
  socket.on('message', (bytes) => isOpen && onData(bytes));
  const failed = (error: Error) => isOpen && onFailed(toEgressFailed(error, host));
  // A closed UDP port is reported as an error of a later send or receive.
  socket.on('error', failed);
  const local = socket.address();
  return {
    local: { address: local.address, port: local.port },
    remote: { address, port },
    send: (bytes) => {
      if (isOpen) socket.send(bytes, (error) => error !== null && failed(error));
    },
    [Symbol.dispose]() {
      if (!isOpen) return;
      isOpen = false;
      socket.close();
    },
  };
}

async function openStream(
  { address, port, host: target }: Candidate,
  { transport, host, onData, onFailed }: EgressConnectRequest,
  signal: AbortSignal,
): Promise<EgressConnection> {
  const socket =
    transport === 'tls'
      ? connectTls({
          host: address,
          port,
          ...(isIP(host) === 0 ? { servername: host } : {}),
          checkServerIdentity: (_host, certificate) => checkServerIdentity(host, certificate),
        })
      : connectTcp({ host: address, port });
  socket.setNoDelay(true).setKeepAlive(true, 30_000);
  const opened = Promise.withResolvers<void>();
  const onAbort = () => socket.destroy(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once(transport === 'tls' ? 'secureConnect' : 'connect', () => opened.resolve());
  let failure: Error | undefined;
  let isOpen = false;
  socket.on('error', (error) => {
    failure = error;
    opened.reject(error);
  });
  socket.on('close', () => {
    opened.reject(new Error('ECONNRESET'));
    if (!isOpen) return;
    isOpen = false;
    onFailed(
      failure === undefined
        ? new EgressFailed(`${target} closed the connection.`, { failure: 'reset' })
        : toEgressFailed(failure, target),
    );
  });
  socket.on('data', (bytes) => isOpen && onData(bytes));
  try {
    await opened.promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  isOpen = true;
  return {
    local: { address: socket.localAddress ?? '', port: socket.localPort ?? 0 },
    remote: { address, port },
    send: (bytes) => {
      if (!isOpen) return;
      socket.write(bytes);
      if (socket.writableLength > maxUnsentBytes) socket.destroy();
    },
    [Symbol.dispose]() {
      isOpen = false;
      // Buffered bytes are still sent before the connection closes.
      socket.end();
      setTimeout(() => socket.destroy(), shutdownFlushMs).unref();
    },
  };
}
