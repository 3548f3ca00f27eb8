import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { parseAddress, splitOutside } from './header-values.ts';
import { maxMessageBytes, parseMessage } from './message.ts';

export interface SipServerSettings {
  domain: string;
  /** Where it takes SIP over WebSocket. */
  wsUrl: string;
  /** Where it takes JSON-RPC over HTTP. */
  rpcUrl: string;
  /** By which it knows the hub. */
  sharedSecret: string;
  /** How often a connection is tried, in milliseconds; one over which nothing came in the meantime is given up. */
  pingMs?: number;
}

/** A call that was answered. */
export interface SipDialog {
  callId: string;
  fromTag: string;
  toTag: string;
}

/** Where the two sides of a call are. */
export interface SipSides {
  /** Their addresses, as Contact. */
  targets: string[];
  /** Addresses of servers by way of which they are reached, in lower case; those without parameters stand for any. */
  routes: string[];
}

interface RpcAnswer {
  result?: unknown;
  error?: { code: number; message: string };
}

/** A call as the server lists it; times are seconds since 1970. */
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
/** As whom the hub asks the server about itself. */
const examiner = 'outrigger-doctor';
const handshakeTimeoutMs = 3_000;
/** What Kamailio says of parts of it that are not up yet, and when it is asked again. */
const isStarting = /^Initializing/;
const startingMs = 100;
const rpcTimeoutMs = 1_000;
/** Kamailio itself waits for what does not answer. */
const pingTimeoutMs = 10_000;

/** The operator's SIP server (deploy/kamailio), which trusts the hub to say who somebody is. */
export class SipServer {
  readonly #settings: SipServerSettings;

  constructor(settings: SipServerSettings) {
    this.#settings = settings;
  }

  get domain(): string {
    return this.#settings.domain;
  }

  /** A connection on which the server takes whoever speaks for this user, without a password. @throws Error where it is not to be had within 3 s. */
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

  /** The status that it answers to whoever asks there whether its domain is served: 200 where it is. @throws Error where no answer comes within 3 s. */
  async askForDomain(): Promise<number> {
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

  /** Ends a call on both sides. Answers whether the server knew it. @throws Error where the server does not answer within a second. */
  async end({ callId, fromTag, toTag }: SipDialog): Promise<boolean> {
    return (await this.#ask('dlg.terminate_dlg', [callId, fromTag, toTag])).error === undefined;
  }

  /** Whether a call lasts. @throws Error where the server does not answer within a second. */
  async knows(dialog: SipDialog): Promise<boolean> {
    return (await this.#listed(dialog)) !== null;
  }

  /** So many calls at most that people begin whose names begin with that of their workspace; those that nobody answered yet have no `toTag`. @throws Error where the server does not answer within a second. */
  async callsOf(username: string, limit: number): Promise<{ dialog: SipDialog; startedAt: Date }[]> {
    const { result, error } = await this.#ask('dlg.list_match', [
      'furi',
      're',
      `^[sS][iI][pP][sS]?:${username}[-:;@]`,
      limit,
    ]);
    if (error !== undefined && error.code !== notFound) throw new Error(`it lists no calls: ${error.message}`);
    const listed = Array.isArray(result) ? (result as ListedDialog[]) : [];
    // One that is over is listed for a while.
    return listed
      .filter(({ state }) => state < deleted)
      .map((each) => ({
        dialog: { callId: each['call-id'], fromTag: each.caller.tag, toTag: each.callee.tag },
        startedAt: new Date(each.init_ts * 1_000),
      }));
  }

  /** Where the sides of a call are; null where it does not last. @throws Error where the server does not answer within a second. */
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

  /** A call that lasts; null where there is none: of one that it does not know the server answers an object without anything in it. */
  async #listed({ callId, fromTag }: SipDialog): Promise<ListedDialog | null> {
    const { result, error } = await this.#ask('dlg.dlg_list', [callId, fromTag]);
    const found = [result].flat().filter((each) => isListed(each));
    return error === undefined ? (found.find(({ state }) => state < deleted) ?? null) : null;
  }

  /** Forgets where the phones of a user are, so that no call reaches them. @throws Error where the server does not answer within a second. */
  async forget(username: string): Promise<void> {
    await this.#ask('ul.rm', ['location', username]);
  }

  /** What it is. @throws Error where it does not answer within a second. */
  async version(): Promise<string> {
    const { result } = await this.#ask('core.version', []);
    if (typeof result !== 'string') throw new Error('its answer is none of Kamailio');
    return result;
  }

  /** What sound goes by (rtpengine), and whether it answers; null where sound goes by nothing. @throws Error where the server does not answer within a few seconds. */
  async mediaRelays(): Promise<{ url: string; isUp: boolean }[] | null> {
    const { result } = await this.#askOnceStarted('rtpengine.show', ['all']);
    if (!Array.isArray(result)) return null;
    const relays: { url: string; isUp: boolean }[] = [];
    for (const { url } of result as { url: string }[]) {
      const { result: ping } = await this.#ask('rtpengine.ping', [url], pingTimeoutMs);
      relays.push({ url, isUp: (ping as { status?: string } | undefined)?.status === 'success' });
    }
    return relays;
  }

  /** Asks again what the server can't say in its first moments. */
  async #askOnceStarted(method: string, params: string[]): Promise<RpcAnswer> {
    const deadline = performance.now() + handshakeTimeoutMs;
    for (;;) {
      const answer = await this.#ask(method, params);
      if (answer.error === undefined || !isStarting.test(answer.error.message)) return answer;
      if (performance.now() > deadline) throw new Error(`it is still starting: ${answer.error.message}`);
      await sleep(startingMs);
    }
  }

  async #ask(method: string, params: (string | number)[], timeoutMs = rpcTimeoutMs): Promise<RpcAnswer> {
    const { rpcUrl, sharedSecret } = this.#settings;
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Outrigger-Secret': sharedSecret },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status === 403) throw new Error('it does not know the secret');
    return (await response.json()) as RpcAnswer;
  }
}

/** Gives up a connection whose other side is gone without a word. */
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
