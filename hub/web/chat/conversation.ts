import type { VisitorFrame } from '../../../shared/contract/chat/live.ts';
import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';
import type { VisitorConversation } from '../../../shared/contract/chat/visitor-page.ts';
import { background } from '../../../shared/web/background.ts';
import { HubError } from './api.ts';
import { backoffMs } from './backoff.ts';
import type { ConversationOptions } from './conversation-options.ts';
import { LiveConnection } from './live-connection.ts';
import { Messages } from './messages.ts';
import { Outbox, outboxKey } from './outbox.ts';
import type { Outgoing } from './outbox.ts';
import { PartialAnswer } from './partial-answer.ts';
import type { ChatState } from './state.ts';
import { TypingNotice } from './typing-notice.ts';

type MessagePage = { data: ChatMessage[]; meta: { nextCursor: string | null } };

/** A larger gap is not filled: only the newest messages are read. */
const maxMissedMessages = 1_000;
/** Typing events repeat while a person types. Without one for this time, typing has ended. */
const typingTimeoutMs = 10_000;
const pageLimit = 50;
const isFromOthers = ({ senderType }: ChatMessage) => senderType !== 'visitor' && senderType !== 'system';

const typingNameOf = (who: string, { language }: ChatState) => (who === 'ai' ? language.words.assistant : '');

/** Storage key of the sequence number up to which messages were reported to the host. */
export const reportedKey = (conversationId: string) => `reported.${conversationId}`;

/** One conversation: its messages, the outbox and the live connection. */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #messages = new Messages();
  readonly #live: LiveConnection;
  readonly #outbox: Outbox;
  readonly #typingNotice: TypingNotice;
  readonly #partialAnswer: PartialAnswer;
  #conversation: VisitorConversation;
  #isAtEnd = true;
  #hasEnded = false;
  /** Whether `onContinued` was called. */
  #isContinued = false;
  #fillingGap: Promise<void> | null = null;
  #isLoadingOlder = false;
  #typingTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ConversationOptions) {
    const { session, store, storage, conversation } = options;
    this.#options = options;
    this.#conversation = conversation;
    const storedAs = outboxKey(conversation.id);
    this.#outbox = new Outbox({
      waiting: storage.get<Outgoing[]>(storedAs) ?? [],
      send: ({ content, clientId, attachments }) =>
        session.call<ChatMessage>('messages', {
          method: 'POST',
          body: { content, clientId, attachmentIds: attachments.map(({ id }) => id) },
        }),
      onSent: (message) => this.#addMessages([message]),
      onChange: (waiting) => {
        storage.set(storedAs, waiting.length === 0 ? null : waiting);
        if (!this.#hasEnded) store.set({ outgoing: waiting });
      },
      onClosed: (error) => this.#onClosed(error),
    });
    this.#live = new LiveConnection({
      token: () => session.token,
      after: () => this.#messages.last,
      onFrame: (frame) => this.#onFrame(frame),
      onConnected: (isConnected) => {
        store.set({ isConnected });
        if (isConnected) background(this.#outbox.flush());
      },
      onRevoked: this.#tryRefresh,
      poll: async () => {
        await Promise.all([this.#fillGap(), this.#refresh()]);
      },
    });
    this.#partialAnswer = new PartialAnswer((partial) =>
      store.set(partial === '' ? { partial } : { partial, typing: null }),
    );
    this.#typingNotice = new TypingNotice((typing) => {
      if (!this.#live.send({ type: 'typing', typing }))
        session.call('typing', { method: 'POST', body: { typing } }).catch(() => undefined);
    });
    store.set({ conversation, outgoing: this.#outbox.waiting, chunks: [], hasOlder: false, isLoaded: false });
  }

  async start(): Promise<void> {
    for (let attempt = 0; !this.#hasEnded; attempt += 1) {
      try {
        await this.#readNewest();
        break;
      } catch (error) {
        if (this.#handleRefusal(error)) return;
        this.#options.store.set({ isConnected: false });
        await new Promise((done) => setTimeout(done, backoffMs(attempt)));
      }
    }
    if (this.#hasEnded) return;
    this.#live.start();
    background(this.#outbox.flush());
  }

  send(content: string, attachments: Outgoing['attachments']): void {
    this.#typingNotice.stop();
    this.#outbox.add(content, attachments);
  }

  retry(clientId: string): void {
    this.#outbox.retry(clientId);
  }

  discard(clientId: string): void {
    this.#outbox.remove(clientId);
  }

  draftChanged(text: string): void {
    if (text.trim() === '') this.#typingNotice.stop();
    else this.#typingNotice.onInput();
  }

  /** Reports whether the message list is scrolled to its end, or that visibility changed. */
  setAtEnd(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    this.#markRead();
  }

  async loadOlder(): Promise<void> {
    if (this.#isLoadingOlder || !this.#options.store.state.hasOlder) return;
    this.#isLoadingOlder = true;
    try {
      const { data, meta } = await this.#readPage({ before: String(this.#messages.first) });
      this.#messages.add(data);
      this.#options.store.set({ chunks: this.#messages.chunks, hasOlder: meta.nextCursor !== null && data.length > 0 });
    } catch (error) {
      this.#handleRefusal(error);
    } finally {
      this.#isLoadingOlder = false;
    }
  }

  /** @throws HubError */
  async askForPerson(): Promise<void> {
    const { session, store } = this.#options;
    const query = { locale: store.state.language.locale };
    this.update(await session.call<VisitorConversation>('handoff', { method: 'POST', query }));
  }

  /** Applies a newer state of the conversation from the hub. */
  update(conversation: VisitorConversation): void {
    if (conversation.id !== this.#conversation.id || this.#hasEnded) return;
    const { visitorReadSeq, agentReadSeq } = this.#conversation;
    this.#setConversation({
      ...conversation,
      visitorReadSeq: Math.max(visitorReadSeq, conversation.visitorReadSeq),
      agentReadSeq: Math.max(agentReadSeq, conversation.agentReadSeq),
    });
    if (conversation.lastSeq > this.#messages.last) this.#fillGap().catch(() => undefined);
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#typingTimer);
    this.#partialAnswer.clear();
    this.#typingNotice.end();
    this.#live.end();
    this.#outbox.end();
  }

  #readPage(query: Record<string, string>): Promise<MessagePage> {
    return this.#options.session.call<MessagePage>('messages', { query: { limit: String(pageLimit), ...query } });
  }

  async #readNewest(): Promise<void> {
    const { data, meta } = await this.#readPage({});
    if (this.#hasEnded) return;
    this.#messages.restart(data);
    this.#options.store.set({ isLoaded: true, chunks: this.#messages.chunks, hasOlder: meta.nextCursor !== null });
    for (const { clientId } of data) if (clientId !== null) this.#outbox.remove(clientId);
    const { visitorReadSeq } = this.#conversation;
    this.#markRead();
    // A message that arrived between two page loads is reported once. On the first page, all existing messages are
    // history.
    const reported = this.#options.storage.get<number>(this.#reportedKey) ?? this.#messages.last;
    this.#reportIncoming(
      data.filter((message) => isFromOthers(message) && message.seq > Math.max(reported, visitorReadSeq)),
    );
  }

  /** Reads the messages after the last known one. Concurrent calls share one run. */
  #fillGap(): Promise<void> {
    this.#fillingGap ??= (async () => {
      try {
        if (this.#conversation.lastSeq - this.#messages.last > maxMissedMessages) {
          await this.#readNewest();
          return;
        }
        for (;;) {
          const { data, meta } = await this.#readPage({ after: String(this.#messages.last) });
          if (this.#hasEnded) return;
          this.#addMessages(data);
          if (meta.nextCursor === null || data.length === 0) return;
        }
      } catch (error) {
        if (!this.#handleRefusal(error)) throw error;
      } finally {
        this.#fillingGap = null;
      }
    })();
    return this.#fillingGap;
  }

  async #refresh(): Promise<void> {
    try {
      this.update(await this.#options.session.call<VisitorConversation>('conversation'));
    } catch (error) {
      if (!this.#handleRefusal(error)) throw error;
    }
  }

  /** After a failure, the next `sync` frame triggers another refresh. */
  #tryRefresh = (): void => {
    this.#refresh().catch(() => undefined);
  };

  /**
   * Handles a permanent refusal of this visitor by the hub. Returns whether the error was one, or the conversation has
   * ended.
   */
  #handleRefusal(error: unknown): boolean {
    if (this.#hasEnded) return true;
    if (!(error instanceof HubError)) throw error;
    if (error.status !== 401 && error.status !== 403) return false;
    this.#options.onRefused(error);
    return true;
  }

  #onFrame(frame: VisitorFrame): void {
    const { store } = this.#options;
    const ignoreFailure = (work: Promise<void>) => {
      work.catch(() => undefined);
    };
    switch (frame.type) {
      case 'message':
        this.#addMessages([frame.message]);
        break;
      case 'delta':
        this.#partialAnswer.append(frame);
        break;
      case 'typing':
        clearTimeout(this.#typingTimer);
        store.set({ typing: frame.typing ? (frame.name ?? typingNameOf(frame.who, store.state)) : null });
        if (frame.typing) this.#typingTimer = setTimeout(() => store.set({ typing: null }), typingTimeoutMs);
        break;
      case 'read': {
        const name = frame.who === 'agent' ? 'agentReadSeq' : 'visitorReadSeq';
        this.#setConversation({ ...this.#conversation, [name]: Math.max(this.#conversation[name], frame.seq) });
        break;
      }
      case 'presence':
        this.#setConversation({ ...this.#conversation, agentOnline: frame.agentOnline });
        break;
      case 'conversation':
        this.update(frame.conversation);
        break;
      case 'sync':
        if (frame.lastSeq > this.#messages.last) ignoreFailure(this.#fillGap());
        if (frame.status !== this.#conversation.status) this.#tryRefresh();
        break;
      default:
    }
  }

  #addMessages(messages: readonly ChatMessage[]): void {
    const added = this.#messages.add(messages.filter(({ conversationId }) => conversationId === this.#conversation.id));
    if (this.#messages.hasGap) this.#fillGap().catch(() => undefined);
    if (added.length === 0) return;
    const { store } = this.#options;
    for (const { clientId, senderType } of added)
      if (senderType === 'visitor' && clientId !== null) this.#outbox.remove(clientId);
    const incoming = added.filter(isFromOthers);
    const { last } = this.#messages;
    if (last > this.#conversation.lastSeq) this.#conversation = { ...this.#conversation, lastSeq: last };
    store.set({
      chunks: this.#messages.chunks,
      ...(incoming.length === 0 ? {} : { typing: null }),
    });
    if (incoming.length > 0) this.#partialAnswer.clear();
    const { visitorReadSeq } = this.#conversation;
    this.#markRead();
    this.#reportIncoming(incoming.filter(({ seq }) => seq > visitorReadSeq));
  }

  get #reportedKey(): string {
    return reportedKey(this.#conversation.id);
  }

  #reportIncoming(messages: readonly ChatMessage[]): void {
    for (const message of messages) this.#options.onIncoming(message);
    this.#options.storage.set(this.#reportedKey, this.#messages.last);
  }

  #markRead(): void {
    const { last } = this.#messages;
    const { session, isVisible } = this.#options;
    if (!this.#hasEnded && this.#isAtEnd && isVisible() && last > this.#conversation.visitorReadSeq) {
      if (!this.#live.send({ type: 'read', seq: last }))
        session.call('read', { method: 'POST', body: { seq: last } }).catch(() => undefined);
      this.#conversation = { ...this.#conversation, visitorReadSeq: last };
    }
    this.#setConversation(this.#conversation);
  }

  #setConversation(conversation: VisitorConversation): void {
    this.#conversation = conversation;
    const unread = this.#messages.countAfter(conversation.visitorReadSeq, isFromOthers);
    this.#options.store.set({ conversation, unread });
    if (conversation.isContinued && !this.#isContinued && !this.#hasEnded) {
      this.#isContinued = true;
      this.#options.onContinued();
    }
  }

  /** Returns unsent messages to the draft, so that the visitor can send them in a new conversation. */
  #onClosed(error: HubError): void {
    if (this.#handleRefusal(error)) return;
    const { store, onReturned } = this.#options;
    const { waiting } = this.#outbox;
    for (const { clientId } of waiting) this.#outbox.remove(clientId);
    const texts = [...waiting.map(({ content }) => content), store.state.draft].filter((text) => text !== '');
    const files = waiting.flatMap(({ attachments }) => attachments);
    onReturned(texts.join('\n\n'), files);
    this.#setConversation({ ...this.#conversation, status: 'closed' });
    this.#tryRefresh();
  }
}
