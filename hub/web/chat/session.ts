import type { VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import { call, HubError } from './api.ts';
import type { CallOptions } from './api.ts';

/** Renewed when this part of its time is over. */
const renewAtFraction = 0.5;
const renewRetryMs = 20_000;
const minRenewDelayMs = 5_000;

export interface SessionOptions {
  onRenewed: (session: VisitorSession) => void;
  /** It counts no more. */
  onRefused: (error: HubError) => void;
}

/** Tells the other pages that use a session which one replaces it. */
export function announceRenewal(replaced: string, session: VisitorSession): void {
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel(channelOf(session));
  // A channel has one origin; it is windows that need one.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  channel.postMessage({ replaced, session } satisfies Renewal);
  channel.close();
}

const channelOf = ({ conversation }: VisitorSession) => `outrigger.chat.${conversation.id}`;

interface Renewal {
  replaced: string;
  session: VisitorSession;
}

/** The session by which the page speaks for its visitor, renewed for as long as the page is there; pages that share one agree on its successor. */
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
      // A tab that was made as a copy of another has the same one.
      if (data.replaced === this.#session.token) this.#adopt(data.session);
    });
    // Timers of a machine that slept are late.
    document.addEventListener(
      'visibilitychange',
      () => !document.hidden && Date.now() >= this.#renewAt && void this.renew(),
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

  /** Asks the hub as this visitor. @throws HubError */
  async call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    const { token } = this;
    try {
      return await call<Answer>(path, { ...options, token, signal: this.#ended.signal });
    } catch (error) {
      // Its successor may have come meanwhile.
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
    this.#timer = setTimeout(() => void this.renew(), delayMs);
  }
}
