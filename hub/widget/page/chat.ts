import type { ChatPageSettings, VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import type { FromFrame } from '../frame-protocol.ts';
import { call, HubError } from './api.ts';
import { Attention } from './attention.ts';
import { Blobs } from './blobs.ts';
import type { ChatOptions, Introduction, KeptSession } from './chat-options.ts';
import { inkOn } from './colour.ts';
import { Conversation } from './conversation.ts';
import { tellUnread } from './host.ts';
import { lookOf, wear } from './look.ts';
import type { Look } from './look.ts';
import { problemOf } from './problems.ts';
import { Session } from './session.ts';
import type { Problem } from './state.ts';
import { Uploads } from './uploads.ts';

const tokenRequired: FromFrame = {
  type: 'error',
  code: 'token_required',
  message:
    'Nobody may write here without a token: call boot with the { token } of whoever is signed in, or switch allowAnonymous on in the settings of the chat.',
};

/** The chat of a visitor: how it begins, and what they can do in it. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #attention = new Attention();
  #token: string | null;
  #session: Session | null = null;
  #conversation: Conversation | null = null;
  #uploads: Uploads | null = null;
  #isShown: boolean;
  blobs: Blobs | null = null;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#isShown = !options.address.isEmbedded;
    options.store.set({ draft: options.kept.get<string>('draft') ?? '' });
    document.addEventListener('visibilitychange', () => this.#looked());
    options.store.subscribe(() => this.#attention.show(options.store.state.unread));
    tellUnread(options.store, options.tellHost);
  }

  /** Begins: with the token, else with what the tab has, else as nobody where that is allowed. */
  async start(): Promise<void> {
    const { address, store, kept } = this.#options;
    store.set({ phase: 'loading' });
    const known = kept.get<KeptSession>('session');
    // What is refused is refused in the same language and colour.
    await this.#wear(lookOf(store.state.title));
    try {
      if (this.#token !== null) {
        // Whatever was here before may be another's.
        kept.set('session', null);
        const body = { siteKey: address.siteKey, token: this.#token };
        await this.#use(await call<VisitorSession>('token', { method: 'POST', body }), true);
        return;
      }
      // Without a token of its host a frame is not for somebody whom an earlier page knew.
      const kind = known !== null && !(known.isKnown && address.isEmbedded) ? known : null;
      if (kind !== null && (await this.#resume(kind))) return;
      const settings = await call<ChatPageSettings>('page', { query: { siteKey: address.siteKey } });
      await this.#dress(settings);
      if (settings.allowAnonymous) store.set({ phase: 'start' });
      else this.#fail('needed');
    } catch (error) {
      this.#refused(error);
    }
  }

  /** Begins as nobody. @throws HubError when it may succeed later, or another address is needed. */
  async introduce({ content, ...who }: Introduction): Promise<void> {
    const body = { siteKey: this.#options.address.siteKey, ...who };
    try {
      await this.#use(await call<VisitorSession>('token', { method: 'POST', body }), false);
      this.#conversation?.send(content, []);
    } catch (error) {
      if (error instanceof HubError && (error.isPassing || error.code === 'validation_failed')) throw error;
      this.#refused(error);
    }
  }

  /** A newer token of the host's. */
  async renewToken(token: string): Promise<void> {
    this.#token = token;
    await this.start();
  }

  /** A new conversation after the old one was closed; what was typed and chosen goes into it. @throws HubError when it may succeed later. */
  async beginAnew(): Promise<void> {
    try {
      const session = await this.#session?.call<VisitorSession>('conversations', { method: 'POST' });
      if (session === undefined) return;
      const { uploads } = this.#options.store.state;
      await this.#use(session, this.#isKnown());
      this.#uploads?.carryOver(uploads);
    } catch (error) {
      if (error instanceof HubError && (error.isPassing || error.status === 409)) throw error;
      this.#refused(error);
    }
  }

  /** Sends what is in the draft and the files that arrived. */
  send(): void {
    const content = this.#options.store.state.draft.trim();
    const attachments = this.#uploads?.take() ?? [];
    if (content === '' && attachments.length === 0) return;
    this.#conversation?.send(content, attachments);
    this.setDraft('');
  }

  /** Sends a text of the host's. */
  sendText(content: string): void {
    if (this.#conversation === null) this.setDraft(content);
    else this.#conversation.send(content, []);
  }

  setDraft(draft: string): void {
    this.#options.store.set({ draft });
    this.#options.kept.set('draft', draft === '' ? null : draft);
    this.#conversation?.typed(draft);
  }

  /** @returns false if there were more than a message takes. */
  addFiles(files: readonly File[]): boolean {
    return this.#uploads?.add(files) ?? true;
  }

  removeFile(key: number): void {
    this.#uploads?.remove(key);
  }

  /** @returns false if there are already as many as a message takes. */
  retryFile(key: number): boolean {
    return this.#uploads?.retry(key) ?? true;
  }

  retry(clientId: string): void {
    this.#conversation?.retry(clientId);
  }

  drop(clientId: string): void {
    this.#conversation?.drop(clientId);
  }

  readOlder(): Promise<void> {
    return this.#conversation?.readOlder() ?? Promise.resolve();
  }

  /** @throws HubError */
  async rate(score: number, comment: string): Promise<void> {
    const { store } = this.#options;
    type Rating = NonNullable<VisitorSession['conversation']['rating']>;
    const rating = await this.#session?.call<Rating>('rating', { method: 'POST', body: { score, comment } });
    const { conversation } = store.state;
    if (rating !== undefined && conversation !== null) this.#conversation?.update({ ...conversation, rating });
  }

  /** The reader scrolled, or came back. */
  looked(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    this.#looked();
  }

  setShown(isShown: boolean): void {
    this.#isShown = isShown;
    this.#looked();
  }

  /** Asks the page around it to close it. */
  leave(): void {
    this.#options.tellHost({ type: 'close' });
  }

  /** Forgets all that the tab has of it. */
  wipe(): void {
    this.#end();
    this.#options.kept.wipe();
  }

  #isAtEnd = true;

  #looked(): void {
    this.#conversation?.looked(this.#isAtEnd);
    this.#attention.show(this.#options.store.state.unread);
  }

  /** Whether somebody's token led here, now or before a reload. */
  #isKnown(): boolean {
    return this.#token !== null || this.#options.kept.get<KeptSession>('session')?.isKnown === true;
  }

  #isSeen(): boolean {
    return this.#isShown && !document.hidden;
  }

  /** Whether what the tab kept led anywhere; a session of nobody that is over is just forgotten. @throws HubError */
  async #resume({ token, isKnown }: KeptSession): Promise<boolean> {
    try {
      await this.#use(await call<VisitorSession>('renew', { method: 'POST', token }), isKnown);
      return true;
    } catch (error) {
      if (!(error instanceof HubError) || error.status !== 401) throw error;
      if (isKnown) throw new HubError(401, 'chat_token_expired', error.message);
      this.#options.kept.wipe();
      return false;
    }
  }

  async #use(session: VisitorSession, isKnown: boolean): Promise<void> {
    const { store, kept, tellHost } = this.#options;
    this.#end();
    const keep = ({ token }: VisitorSession) => kept.set('session', { token, isKnown } satisfies KeptSession);
    keep(session);
    await this.#dress(session.settings);
    const current = new Session(session, {
      onRenewed: (renewed) => {
        keep(renewed);
        store.set({ settings: renewed.settings });
        this.#conversation?.update(renewed.conversation);
      },
      onRefused: (error) => this.#refused(error),
    });
    this.#session = current;
    this.blobs = new Blobs(() => current.token);
    this.#uploads = new Uploads(
      () => current.token,
      (uploads) => store.set({ uploads }),
    );
    this.#conversation = new Conversation({
      session: current,
      store,
      kept,
      conversation: session.conversation,
      isSeen: () => this.#isSeen(),
      onIncoming: (message) => {
        tellHost({ type: 'message', message });
        if (!this.#isSeen()) this.#attention.sound();
      },
      onReturned: (text, attachments) => {
        store.set({ draft: text });
        kept.set('draft', text === '' ? null : text);
        this.#uploads?.takeBack(attachments);
      },
      onRefused: (error) => this.#refused(error),
    });
    store.set({ phase: 'chat', typing: null, partial: '', unread: 0, isConnected: true });
    void this.#conversation.start();
  }

  /** Puts on the language and the colour of the workspace. */
  async #dress(settings: ChatPageSettings): Promise<void> {
    this.#options.store.set({ settings });
    await this.#wear(settings);
  }

  async #wear(look: Look): Promise<void> {
    const { store, tellHost } = this.#options;
    const { colour, title } = look;
    const language = await wear(look, store.state.language);
    store.set({ language, title });
    this.#attention.setTitle(title);
    this.#attention.show(store.state.unread);
    tellHost({ type: 'look', colour, ink: inkOn(colour), title });
  }

  #refused(error: unknown): void {
    if (!(error instanceof HubError)) throw error;
    const isKnown = this.#isKnown();
    const problem = problemOf(error, { hasAny: isKnown || this.#session !== null, isKnown });
    if (problem === 'expired') this.#options.tellHost({ type: 'token-expired' });
    if (problem !== 'needed') this.#options.tellHost({ type: 'error', code: error.code, message: error.message });
    this.#fail(problem);
  }

  #fail(problem: Problem): void {
    const { store, kept, tellHost } = this.#options;
    this.#end();
    if (problem === 'needed') tellHost(tokenRequired);
    if (problem === 'expired') kept.set('session', null);
    else if (problem !== 'unreachable') kept.wipe();
    store.set({ phase: 'problem', problem, conversation: null, chunks: [], outgoing: [], hasOlder: false });
    store.set({ unread: 0, typing: null, partial: '' });
  }

  #end(): void {
    this.#conversation?.end();
    this.#session?.end();
    this.#uploads?.end();
    this.blobs?.end();
    this.#conversation = null;
    this.#session = null;
    this.#uploads = null;
    this.blobs = null;
  }
}
