import type { ChatAttachment, ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import { background } from '../../../shared/web/background.ts';
import { HubError } from './api.ts';
import { backoffMs } from './backoff.ts';
import type { TabStorage } from './tab-storage.ts';

/** A message whose arrival at the hub is not confirmed. */
export interface Outgoing {
  clientId: string;
  content: string;
  attachments: ChatAttachment[];
  writtenAt: string;
  /** Whether the hub refused the message. It is sent again only when the visitor retries it. */
  isRefused: boolean;
}

export interface OutboxOptions {
  /** Messages stored before a reload. */
  waiting: readonly Outgoing[];
  /** @throws HubError */
  send: (message: Outgoing) => Promise<ChatMessage>;
  onSent: (message: ChatMessage) => void;
  /** The pending messages changed and must be stored. */
  onChange: (waiting: readonly Outgoing[]) => void;
  /** The hub accepts no more messages; the error says why. */
  onClosed: (error: HubError) => void;
}

/**
 * Sends messages one at a time, in the order in which they were written. Each has a client id, so the hub stores a
 * message once even if it is sent several times.
 */
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
    background(this.flush());
  }

  /** Removes a message that arrived or is no longer to be sent. */
  remove(clientId: string): void {
    if (this.#waiting.some((message) => message.clientId === clientId))
      this.#change(this.#waiting.filter((message) => message.clientId !== clientId));
  }

  /** Moves a refused message to the end and sends it again. */
  retry(clientId: string): void {
    const message = this.#waiting.find((candidate) => candidate.clientId === clientId);
    if (message === undefined) return;
    this.#change([...this.#waiting.filter((candidate) => candidate !== message), { ...message, isRefused: false }]);
    background(this.flush());
  }

  /** Sends the pending messages now instead of after the back-off. */
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
      this.#timer = setTimeout(() => background(this.flush()), delayMs);
    } else if (error.status === 401 || error.status === 403 || error.code === 'conversation_closed') {
      this.#options.onClosed(error);
    } else {
      const refused = this.#waiting.find(({ isRefused }) => !isRefused);
      this.#change(this.#waiting.map((message) => (message === refused ? { ...message, isRefused: true } : message)));
      this.#timer = setTimeout(() => background(this.flush()));
    }
  }

  #change(waiting: readonly Outgoing[]): void {
    this.#waiting = waiting;
    this.#options.onChange(waiting);
  }
}

/** Key under which the pending messages of a conversation are stored. */
export const outboxKey = (conversationId: string) => `outbox.${conversationId}`;

/** Moves the stored pending messages of a conversation to another one. */
export function moveOutbox(storage: Pick<TabStorage, 'get' | 'set'>, from: string, to: string): void {
  if (from === to) return;
  const moved = storage.get<Outgoing[]>(outboxKey(from)) ?? [];
  if (moved.length > 0) storage.set(outboxKey(to), [...(storage.get<Outgoing[]>(outboxKey(to)) ?? []), ...moved]);
  storage.set(outboxKey(from), null);
}

function newClientId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(5)), (part) => part.toString(36).padStart(7, '0')).join('');
}
