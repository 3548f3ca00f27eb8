import type { AgentFrame } from '../../../../../shared/client/operations.ts';
import type { agentProtocol, chatCloseCodes } from '../../../../../shared/contract/chat/live.ts';
import { background } from '../../../../../shared/web/background.ts';
import { createEventStreamParser } from '../../../../../shared/web/event-stream-parser.ts';
import { readTextPieces } from '../../../../../shared/web/response-text.ts';
import { client } from '../../app/api.ts';
import { checkSession, noteFailure, untilSignedIn } from '../../app/session-state.ts';

// Importing the contract would add its schema library to the page. The types keep these values equal to the contract's.
const protocol: typeof agentProtocol = 'outrigger.chat.agent.v1';
const revoked: (typeof chatCloseCodes)['revoked'] = 4401;

/** The hub sends a frame every 15 seconds. A connection without a frame for this time is lost. */
const silenceMs = 45_000;
/** A connection without a frame for this time is tested by opening a new one when the browser wakes up. */
const doubtMs = 17_000;
const checkMs = 5_000;
/** Agents wait in front of the page, so attempts are repeated sooner than in the background. */
const maxDelayMs = 5_000;
/** WebSockets that failed this often without opening are treated as blocked. The event stream replaces them. */
const failuresUntilBlocked = 2;
/** The hub forgets after 20 seconds who views a conversation, unless a WebSocket is open. */
const activityMs = 10_000;
/** The viewed conversation is reported at most this often: the hub accepts 20 frames in 10 seconds. */
const viewMs = 800;

type RequestFrame =
  | { type: 'hello' }
  | { type: 'view'; conversationId: string | null }
  | { type: 'typing'; conversationId: string; typing: boolean };

interface ConnectionOptions {
  tenantId: string;
  onFrame: (frame: AgentFrame) => void;
  onConnected: (isConnected: boolean) => void;
}

interface Transport {
  send: (frame: RequestFrame) => boolean;
  close: () => void;
}

function parse(text: string): AgentFrame | null {
  try {
    return JSON.parse(text) as AgentFrame;
  } catch {
    return null;
  }
}

/**
 * The live connection of an agent: a WebSocket, or an event stream where WebSockets are blocked. Frames that the page
 * missed are not repeated, so the page reads its lists again after each new connection.
 */
export class AgentConnection {
  readonly #options: ConnectionOptions;
  readonly #ended = new AbortController();
  #transport: Transport | null = null;
  #isOpen = false;
  #usesStream = false;
  #failures = 0;
  #attempt = 0;
  #lastReceivedAt = 0;
  #viewed: string | null = null;
  #reportedView: string | null = null;
  #viewTimer: ReturnType<typeof setTimeout> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Connects until the returned function is called. */
  start(): () => void {
    const { signal } = this.#ended;
    const check = setInterval(() => this.#loseIfSilent(silenceMs), checkMs);
    const activity = setInterval(() => {
      if (this.#usesStream && this.#viewed !== null) this.#showActivity(this.#viewed);
    }, activityMs);
    addEventListener('offline', () => this.#lose(), { signal });
    addEventListener('online', () => this.#connectNow(), { signal });
    addEventListener('pageshow', () => this.#loseIfSilent(doubtMs), { signal });
    document.addEventListener('visibilitychange', () => document.hidden || this.#loseIfSilent(doubtMs), { signal });
    this.#connect();
    return () => {
      this.#ended.abort();
      clearInterval(check);
      clearInterval(activity);
      clearTimeout(this.#timer);
      clearTimeout(this.#viewTimer);
      this.#close();
    };
  }

  /** Reports which conversation the agent views; null for none. */
  view(conversationId: string | null): void {
    this.#viewed = conversationId;
    this.#viewTimer ??= setTimeout(() => {
      this.#viewTimer = undefined;
      this.#sendView();
    }, viewMs);
  }

  #sendView(): void {
    const before = this.#reportedView;
    if (before === this.#viewed) return;
    this.#reportedView = this.#viewed;
    if (!this.#usesStream) {
      this.#transport?.send({ type: 'view', conversationId: this.#viewed });
      return;
    }
    if (before !== null) this.#showActivity(before, { viewing: false, typing: false });
    if (this.#viewed !== null) this.#showActivity(this.#viewed);
  }

  /** Reports that the agent types a reply, or stopped. */
  typing(conversationId: string, typing: boolean): void {
    const isSent = this.#transport?.send({ type: 'typing', conversationId, typing }) ?? false;
    if (!isSent && this.#usesStream) this.#showActivity(conversationId, { viewing: true, typing });
  }

  #showActivity(id: string, body = { viewing: true, typing: false }): void {
    if (!this.#isOpen) return;
    // A failure needs nothing: the next call repeats it.
    client.call('showInboxActivity', { params: { tenantId: this.#options.tenantId, id }, body }).catch(noteFailure);
  }

  #connectNow(): void {
    if (this.#isOpen) return;
    this.#close();
    this.#attempt = 0;
    this.#connect();
  }

  #loseIfSilent(ms: number): void {
    if (this.#transport !== null && Date.now() - this.#lastReceivedAt > ms) {
      this.#lose();
      this.#connectNow();
    }
  }

  #close(): void {
    const transport = this.#transport;
    this.#transport = null;
    this.#isOpen = false;
    transport?.close();
  }

  #connect(): void {
    clearTimeout(this.#timer);
    if (this.#ended.signal.aborted) return;
    this.#lastReceivedAt = Date.now();
    // A closed transport can still report events.
    const isCurrent = () => this.#transport === transport;
    const events = {
      onOpen: () => {
        if (!isCurrent()) return;
        this.#lastReceivedAt = Date.now();
        this.#isOpen = true;
        this.#failures = 0;
        this.#attempt = 0;
        this.#options.onConnected(true);
        transport.send({ type: 'hello' });
        this.#reportedView = null;
        this.#sendView();
      },
      onFrame: (frame: AgentFrame | null) => {
        if (!isCurrent()) return;
        this.#lastReceivedAt = Date.now();
        if (frame !== null) this.#options.onFrame(frame);
      },
      onEnd: () => {
        if (isCurrent()) this.#lose();
      },
    };
    const { tenantId } = this.#options;
    const transport = this.#usesStream ? openStream(tenantId, events) : openSocket(tenantId, events);
    this.#transport = transport;
  }

  #lose(): void {
    if (this.#isOpen) this.#usesStream = false;
    else {
      this.#failures += 1;
      if (this.#failures >= failuresUntilBlocked) {
        this.#usesStream = !this.#usesStream;
        this.#failures = 0;
      }
    }
    this.#close();
    this.#options.onConnected(false);
    clearTimeout(this.#timer);
    const delayMs = Math.min(maxDelayMs, 500 * 2 ** this.#attempt) * (0.5 + Math.random() / 2);
    this.#attempt += 1;
    // Without a session, the hub would refuse each attempt.
    this.#timer = setTimeout(
      () => background(untilSignedIn(this.#ended.signal).then(() => this.#transport === null && this.#connect())),
      delayMs,
    );
  }
}

interface TransportEvents {
  onOpen: () => void;
  onFrame: (frame: AgentFrame | null) => void;
  onEnd: () => void;
}

/** The browser sends the session cookie with the WebSocket. */
function openSocket(tenantId: string, events: TransportEvents): Transport {
  const url = `${location.origin.replace(/^http/, 'ws')}/tenants/${encodeURIComponent(tenantId)}/chat/live`;
  const socket = new WebSocket(url, [protocol]);
  socket.addEventListener('open', () => events.onOpen());
  socket.addEventListener('message', ({ data }: MessageEvent<unknown>) =>
    events.onFrame(typeof data === 'string' ? parse(data) : null),
  );
  socket.addEventListener('close', ({ code }) => {
    if (code === revoked) background(checkSession());
    events.onEnd();
  });
  return {
    send(frame) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(frame));
      return true;
    },
    close: () => socket.close(),
  };
}

function openStream(tenantId: string, events: TransportEvents): Transport {
  const aborter = new AbortController();
  const parser = createEventStreamParser(({ event, data }) => {
    if (event === 'end') background(checkSession());
    else events.onFrame(parse(data));
  });
  const read = async () => {
    const response = await client.open('streamInboxEvents', { params: { tenantId } }, { signal: aborter.signal });
    events.onOpen();
    await readTextPieces(response, (text) => {
      events.onFrame(null);
      parser(text);
    });
  };
  background(
    read()
      .catch((error: unknown) => {
        if (!aborter.signal.aborted) noteFailure(error);
      })
      .then(() => {
        if (!aborter.signal.aborted) events.onEnd();
      }),
  );
  return { send: () => false, close: () => aborter.abort() };
}
