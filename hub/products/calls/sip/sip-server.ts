import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { parseAddress, splitOutside } from './header-values.ts';
import { maxMessageBytes, parseMessage } from './message.ts';

export interface SipServerSettings {
  domain: string;
  /** Address for SIP over WebSocket. */
  wsUrl: string;
  /** Address for JSON-RPC over HTTP. */
  rpcUrl: string;
  /** Secret that authenticates the hub. */
  sharedSecret: string;
  /** Interval of WebSocket pings, in milliseconds. A connection without a pong until the next ping is terminated. */
  pingMs?: number;
  /** Time limit of a request over JSON-RPC, in milliseconds. Default: 1 s, because a softphone waits for some of them. */
  rpcTimeoutMs?: number;
}

/** Identifiers of an answered call. */
export interface SipDialog {
  callId: string;
  fromTag: string;
  toTag: string;
}

/** Contact addresses and routes of both sides of a call. */
export interface SipSides {
  /** Contact URIs. */
  targets: string[];
  /** Lower-case URIs of proxies on the path. A URI without parameters matches any parameters. */
  routes: string[];
}

interface RpcAnswer {
  result?: unknown;
  error?: { code: number; message: string };
}

/** A dialog as listed by the server. Times are seconds since 1970. */
interface ListedDialog {
  'call-id': string;
  state: number;
  init_ts: number;
  caller: ListedSide;
  callee: ListedSide;
}

interface ListedSide {
  tag: string;
  contact?: string;
  socket?: string;
  route_set?: string;
}

const isListed = (value: unknown): value is ListedDialog =>
  typeof value === 'object' && value !== null && 'caller' in value && 'callee' in value;

const notFound = 404;
const deleted = 5;
const defaultPingMs = 20_000;
/** SIP user for the connection check of `outrigger doctor`. */
const examiner = 'outrigger-doctor';
/** A softphone that waits for a busy server is better off than one that is refused. */
const handshakeTimeoutMs = 10_000;
/** Error text of Kamailio for modules that are still starting, and the delay before the next attempt. */
const isStarting = /^Initializing/;
const startingMs = 100;
const defaultRpcTimeoutMs = 1_000;
/** Kamailio itself waits for an rtpengine that does not answer. */
const pingTimeoutMs = 10_000;

/** The operator's SIP server (deploy/kamailio). It trusts the hub to authenticate users. */
export class SipServer {
  readonly #settings: SipServerSettings;

  constructor(settings: SipServerSettings) {
    this.#settings = settings;
  }

  get domain(): string {
    return this.#settings.domain;
  }

  /**
   * Opens a connection on which the server accepts the user without a password.
   * @throws Error if the connection is not open within 10 s.
   */
  connect(username: string): Promise<WebSocket> {
    const { wsUrl, sharedSecret } = this.#settings;
    const socket = new WebSocket(wsUrl, 'sip', {
      headers: { 'X-Outrigger-Secret': sharedSecret, 'X-Outrigger-User': username },
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      handshakeTimeout: handshakeTimeoutMs,
    });
    return new Promise((done, fail) => {
      socket.on('error', fail);
      socket.once('open', () => {
        watch(socket, this.#settings.pingMs ?? defaultPingMs);
        done(socket);
      });
    });
  }

  /**
   * Sends OPTIONS for the domain and returns the status: 200 if the server serves the domain.
   * @throws Error without a response within 10 s.
   */
  async checkDomain(): Promise<number> {
    const { domain } = this.#settings;
    const socket = await this.connect(examiner);
    try {
      const answered = once(socket, 'message', { signal: AbortSignal.timeout(handshakeTimeoutMs) });
      socket.send(
        [
          `OPTIONS sip:${domain} SIP/2.0`,
          'Via: SIP/2.0/WS examiner.invalid;branch=z9hG4bKexaminer',
          'Max-Forwards: 1',
          `From: <sip:${examiner}@${domain}>;tag=examiner`,
          `To: <sip:${domain}>`,
          `Call-ID: ${examiner}`,
          'CSeq: 1 OPTIONS',
          'Content-Length: 0',
          '',
          '',
        ].join('\r\n'),
      );
      const [data] = (await answered) as [Buffer];
      const message = parseMessage(data);
      return message.kind === 'response' ? message.status : 0;
    } finally {
      socket.close();
    }
  }

  /**
   * Ends a call on both sides. Returns whether the server knew the call.
   * @throws Error without a response within `rpcTimeoutMs`.
   */
  async end({ callId, fromTag, toTag }: SipDialog): Promise<boolean> {
    return (await this.#call('dlg.terminate_dlg', [callId, fromTag, toTag])).error === undefined;
  }

  /** Whether the call is in progress. @throws Error without a response within `rpcTimeoutMs`. */
  async knows(dialog: SipDialog): Promise<boolean> {
    return (await this.#listed(dialog)) !== null;
  }

  /**
   * Lists up to `limit` calls started by SIP users of a workspace. An unanswered call has an empty `toTag`.
   * @param username SIP user of the workspace.
   * @throws Error without a response within `rpcTimeoutMs`.
   */
  async callsOf(username: string, limit: number): Promise<{ dialog: SipDialog; startedAt: Date }[]> {
    const { result, error } = await this.#call('dlg.list_match', [
      'furi',
      're',
      `^[sS][iI][pP][sS]?:${username}[-:;@]`,
      limit,
    ]);
    if (error !== undefined && error.code !== notFound) throw new Error(`the call list failed: ${error.message}`);
    const listed = Array.isArray(result) ? (result as ListedDialog[]) : [];
    // The server lists ended calls for a while.
    return listed
      .filter(({ state }) => state < deleted)
      .map((each) => ({
        dialog: { callId: each['call-id'], fromTag: each.caller.tag, toTag: each.callee.tag },
        startedAt: new Date(each.init_ts * 1_000),
      }));
  }

  /**
   * Addresses of both sides of a call. Null if the call is not in progress.
   * @throws Error without a response within `rpcTimeoutMs`.
   */
  async sidesOf(dialog: SipDialog): Promise<SipSides | null> {
    const listed = await this.#listed(dialog);
    if (listed === null) return null;
    const sides = [listed.caller, listed.callee];
    const all = (name: keyof ListedSide) => sides.map((side) => side[name] ?? '').filter((value) => value !== '');
    const own = [
      ...all('socket').map((socket) => socket.replace(/^\w+:/, '')),
      this.domain,
      new URL(this.#settings.wsUrl).host,
    ];
    const others = all('route_set').flatMap((set) => splitOutside(set, ',').map((value) => parseAddress(value).uri));
    return {
      targets: all('contact'),
      routes: [...own.flatMap((host) => [`sip:${host}`, `sip:${host.replace(/:5060$/, '')}`]), ...others].map((uri) =>
        uri.toLowerCase(),
      ),
    };
  }

  /** A call in progress, or null. For an unknown call the server returns an empty object. */
  async #listed({ callId, fromTag }: SipDialog): Promise<ListedDialog | null> {
    const { result, error } = await this.#call('dlg.dlg_list', [callId, fromTag]);
    const found = [result].flat().filter((each) => isListed(each));
    return error === undefined ? (found.find(({ state }) => state < deleted) ?? null) : null;
  }

  /**
   * Removes the registered locations of a SIP user, so that no new call reaches them.
   * @throws Error without a response within `rpcTimeoutMs`.
   */
  async forget(username: string): Promise<void> {
    await this.#call('ul.rm', ['location', username]);
  }

  /** The version of the server. @throws Error without a response within `rpcTimeoutMs`. */
  async version(): Promise<string> {
    const { result } = await this.#call('core.version', []);
    if (typeof result !== 'string') throw new Error('the answer is not a Kamailio version');
    return result;
  }

  /**
   * Lists the media relays (rtpengine) and whether each responds. Null without relays.
   * @throws Error without a response within a few seconds.
   */
  async mediaRelays(): Promise<{ url: string; isUp: boolean }[] | null> {
    const { result } = await this.#callOnceStarted('rtpengine.show', ['all']);
    if (!Array.isArray(result)) return null;
    const relays: { url: string; isUp: boolean }[] = [];
    for (const { url } of result as { url: string }[]) {
      const { result: ping } = await this.#call('rtpengine.ping', [url], pingTimeoutMs);
      relays.push({ url, isUp: (ping as { status?: string } | undefined)?.status === 'success' });
    }
    return relays;
  }

  /** Repeats a request while the server is starting. */
  async #callOnceStarted(method: string, params: string[]): Promise<RpcAnswer> {
    const deadline = performance.now() + handshakeTimeoutMs;
    for (;;) {
      const answer = await this.#call(method, params);
      if (answer.error === undefined || !isStarting.test(answer.error.message)) return answer;
      if (performance.now() > deadline) throw new Error(`the server is still starting: ${answer.error.message}`);
      await sleep(startingMs);
    }
  }

  async #call(method: string, params: (string | number)[], timeoutMs?: number): Promise<RpcAnswer> {
    const { rpcUrl, sharedSecret, rpcTimeoutMs = defaultRpcTimeoutMs } = this.#settings;
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Outrigger-Secret': sharedSecret },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(timeoutMs ?? rpcTimeoutMs),
    });
    if (response.status === 403) throw new Error('the server rejects the secret');
    return (await response.json()) as RpcAnswer;
  }
}

/** Terminates a connection without a pong between two pings. */
function watch(socket: WebSocket, everyMs: number): void {
  let isAlive = true;
  const timer = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, everyMs).unref();
  socket.on('pong', () => (isAlive = true));
  socket.once('close', () => clearInterval(timer));
}
