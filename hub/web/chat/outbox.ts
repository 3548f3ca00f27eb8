import type { ChatAttachment, ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import { HubError } from './api.ts';
import { backoffMs } from './backoff.ts';

/** A message that was written and is not known to have arrived. */
export interface Outgoing {
  clientId: string;
  content: string;
  attachments: ChatAttachment[];
  writtenAt: string;
  /** Whether the hub refused it; it is sent again only when its writer says so. */
  isRefused: boolean;
}

export interface OutboxOptions {
  /** Kept by the tab, from before a reload. */
  waiting: readonly Outgoing[];
  /** @throws HubError */
  send: (message: Outgoing) => Promise<ChatMessage>;
  onSent: (message: ChatMessage) => void;
  /** What waits changed: keep it. */
  onChange: (waiting: readonly Outgoing[]) => void;
  /** The hub takes no messages any more, for this reason. */
  onClosed: (error: HubError) => void;
}

/** Sends messages one after the other in the order in which they were written; each has an id of its own, so that the hub has it once however often it is sent. */
export class Outbox {
  readonly #options: OutboxOptions;
  #waiting: readonly Outgoing[];
  #isSending = false;
  #hasEnded = false;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#waiting = options.waiting;
  }

  get waiting(): readonly Outgoing[] {
    return this.#waiting;
  }

  add(content: string, attachments: ChatAttachment[]): void {
    const written = { clientId: newClientId(), content, attachments, writtenAt: new Date().toISOString() };
    this.#change([...this.#waiting, { ...written, isRefused: false }]);
    void this.flush();
  }

  /** It arrived: by what the hub answered, or as others see it. */
  remove(clientId: string): void {
    if (this.#waiting.some((message) => message.clientId === clientId))
      this.#change(this.#waiting.filter((message) => message.clientId !== clientId));
  }

  /** Tries a refused one again, at the end. */
  retry(clientId: string): void {
    const message = this.#waiting.find((candidate) => candidate.clientId === clientId);
    if (message === undefined) return;
    this.#change([...this.#waiting.filter((candidate) => candidate !== message), { ...message, isRefused: false }]);
    void this.flush();
  }

  /** Sends what waits, now rather than after its wait. */
  async flush(): Promise<void> {
    if (this.#isSending) return;
    clearTimeout(this.#timer);
    this.#isSending = true;
    try {
      for (;;) {
        const next = this.#waiting.find(({ isRefused }) => !isRefused);
        if (next === undefined || this.#hasEnded) return;
        const sent = await this.#options.send(next);
        if (this.#hasEnded) return;
        this.#attempt = 0;
        this.#options.onSent(sent);
        this.remove(next.clientId);
      }
    } catch (error) {
      if (!this.#hasEnded) this.#onFailed(error);
    } finally {
      this.#isSending = false;
    }
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #onFailed(error: unknown): void {
    if (!(error instanceof HubError)) throw error;
    if (error.isTemporary) {
      const delayMs = Math.max(error.retryAfterMs, backoffMs(this.#attempt++));
      this.#timer = setTimeout(() => void this.flush(), delayMs);
    } else if (error.status === 401 || error.status === 403 || error.code === 'conversation_closed') {
      this.#options.onClosed(error);
    } else {
      const refused = this.#waiting.find(({ isRefused }) => !isRefused);
      this.#change(this.#waiting.map((message) => (message === refused ? { ...message, isRefused: true } : message)));
      this.#timer = setTimeout(() => void this.flush());
    }
  }

  #change(waiting: readonly Outgoing[]): void {
    this.#waiting = waiting;
    this.#options.onChange(waiting);
  }
}

function newClientId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(5)), (part) => part.toString(36).padStart(7, '0')).join('');
}
