import type { VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import { background } from '../../../shared/web/background.ts';
import { call, HubError } from './api.ts';
import type { CallOptions } from './api.ts';

/** The fraction of the remaining lifetime after which a session is renewed. */
const renewAtFraction = 0.5;
const renewRetryMs = 20_000;
const minRenewDelayMs = 5_000;

export interface SessionOptions {
  onRenewed: (session: VisitorSession) => void;
  /** The session is no longer valid. */
  onRefused: (error: HubError) => void;
}

/** Announces to the other pages with this session which session replaces it. */
export function announceRenewal(replaced: string, session: VisitorSession): void {
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelOf(session));
  // A channel has one origin; only window messages need a target origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  channel.postMessage({ replaced, session } satisfies Renewal);
  channel.close();
}

const channelOf = ({ conversation }: VisitorSession) => `outrigger.chat.${conversation.id}`;

interface Renewal {
  replaced: string;
  session: VisitorSession;
}

/**
 * The session of the visitor, renewed while the page is open. Pages that share a session adopt the same replacement.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #ended = new AbortController();
  readonly #channel: BroadcastChannel | null;
  #session: VisitorSession;
  #renewAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRenewing = false;

  constructor(session: VisitorSession, options: SessionOptions) {
    this.#session = session;
    this.#options = options;
    this.#channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(channelOf(session));
    this.#channel?.addEventListener('message', ({ data }: MessageEvent<Renewal>) => {
      // A duplicated tab has the same session.
      if (data.replaced === this.#session.token) this.#adopt(data.session);
    });
    // Timers are late after a machine has slept.
    document.addEventListener(
      'visibilitychange',
      () => !document.hidden && Date.now() >= this.#renewAt && background(this.renew()),
      { signal: this.#ended.signal },
    );
    this.#scheduleRenewal();
  }

  get token(): string {
    return this.#session.token;
  }

  get visitorId(): string {
    return this.#session.visitorId;
  }

  /** Sends a request to the hub as this visitor. @throws HubError */
  async call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    const { token } = this;
    try {
      return await call<Answer>(path, { ...options, token, signal: this.#ended.signal });
    } catch (error) {
      // A replacement session may have arrived meanwhile.
      if (error instanceof HubError && error.status === 401 && token !== this.token)
        return call<Answer>(path, { ...options, token: this.token, signal: this.#ended.signal });
      throw error;
    }
  }

  async renew(): Promise<void> {
    if (this.#isRenewing || this.#ended.signal.aborted) return;
    this.#isRenewing = true;
    const replaced = this.token;
    try {
      const session = await call<VisitorSession>('renew', { method: 'POST', token: replaced });
      if (this.#ended.signal.aborted) return;
      this.#adopt(session);
      this.#channel?.postMessage({ replaced, session } satisfies Renewal);
    } catch (error) {
      if (this.#ended.signal.aborted || replaced !== this.token) return;
      if (error instanceof HubError && !error.isTemporary) this.#options.onRefused(error);
      else this.#scheduleIn(renewRetryMs);
    } finally {
      this.#isRenewing = false;
    }
  }

  end(): void {
    this.#ended.abort();
    clearTimeout(this.#timer);
    this.#channel?.close();
  }

  #adopt(session: VisitorSession): void {
    this.#session = session;
    this.#scheduleRenewal();
    this.#options.onRenewed(session);
  }

  #scheduleRenewal(): void {
    const remainingMs = Date.parse(this.#session.expiresAt) - Date.now();
    this.#scheduleIn(Math.max(minRenewDelayMs, remainingMs * renewAtFraction));
  }

  #scheduleIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#renewAt = Date.now() + delayMs;
    this.#timer = setTimeout(() => background(this.renew()), delayMs);
  }
}
