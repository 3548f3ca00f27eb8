import type { ChatPageSettings, VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import { call, HubError } from './api.ts';
import { Attention } from './attention.ts';
import type { Blobs } from './blobs.ts';
import type { ChatOptions, Introduction } from './chat-options.ts';
import { reportedKey } from './conversation.ts';
import { Draft } from './draft.ts';
import { tellUnread } from './host.ts';
import type { KeptSession } from './kept.ts';
import { lookOf, wear } from './look.ts';
import type { Look } from './look.ts';
import { OpenChat } from './open-chat.ts';
import { forDevelopers, problemOf, tokenRequired } from './problems.ts';
import { announceRenewal } from './session.ts';
import type { Problem } from './state.ts';
import type { Upload } from './uploads.ts';

/** So many texts of the host's wait for a session; what comes on top is left out. */
const mostWaiting = 20;
/** How long a page of the site checks by itself for a visitor whom its token names and who has opened the chat, in milliseconds. */
const knownVisitMs = 30 * 24 * 60 * 60 * 1_000;

/**
 * The chat of a visitor: how it begins, and what they can do in it.
 */
export class Chat {
  readonly #options: ChatOptions;
  readonly #attention = new Attention();
  #token: string | null;
  #open: OpenChat | null = null;
  #isShown: boolean;
  #mayTakeFocus: boolean;
  readonly #draft: Draft;
  /** Texts of the host's that came before there was a session. */
  #waiting: string[] = [];
  /** Of the session before. */
  #left: { visitorId: string; uploads: readonly Upload[] } | null = null;
  /** Which beginning is under way: of two at once the later one counts, and the first one stops where it is. */
  #turn = 0;
  /** The pending start of an anonymous conversation. */
  #introducing: Promise<void> | null = null;
  readonly askForPerson = () => this.#open?.conversation.askForPerson();

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#isShown = !options.address.isEmbedded;
    this.#mayTakeFocus = this.#isShown;
    this.#draft = new Draft(options.store, options.kept);
    document.addEventListener('visibilitychange', () => this.#looked());
    options.shared?.offer(() => (this.#open === null ? null : options.kept.get<KeptSession>('session')));
    options.store.subscribe(() => this.#attention.show(options.store.state.unread));
    tellUnread(options.store, options.tellHost);
  }

  /** Files of the conversation; null while there is none. */
  get blobs(): Blobs | null {
    return this.#open?.blobs ?? null;
  }

  /** Begins: with the token, else with what the tab has, else as nobody where that is allowed. */
  async start(): Promise<void> {
    const { address, store, kept, shared } = this.#options;
    const turn = this.#begin();
    store.set({ phase: 'loading' });
    const known = kept.get<KeptSession>('session');
    try {
      // What is refused is refused in the same language and colour.
      await this.#wear(lookOf(store.state.title));
      if (turn !== this.#turn) return;
      if (this.#token !== null) {
        // A session that a token or a link led to may be another visitor's. An anonymous one is of the visitor who signs in now.
        const isAnonymous = address.isEmbedded && known?.isKnown !== true;
        if (!isAnonymous) kept.set('session', null);
        const before = isAnonymous ? (known ?? (await shared?.find()) ?? null) : null;
        if (turn !== this.#turn) return;
        const body = {
          siteKey: address.siteKey,
          token: this.#token,
          ...(before === null ? {} : { anonymousSession: before.token }),
        };
        await this.#use(await call<VisitorSession>('token', { method: 'POST', body }), { isKnown: true, turn });
        return;
      }
      const found = known ?? (await shared?.find()) ?? null;
      if (turn !== this.#turn) return;
      // Without a token of its host a frame is not for somebody whom an earlier page knew.
      const own = found !== null && !(found.isKnown && address.isEmbedded) ? found : null;
      if (own !== null && (await this.#resume(own, turn))) return;
      const settings = await call<ChatPageSettings>('page', { query: { siteKey: address.siteKey } });
      if (turn !== this.#turn) return;
      await this.#dress(settings);
      if (turn !== this.#turn) return;
      if (settings.allowAnonymous) this.#askWho();
      else this.#fail('needed');
    } catch (error) {
      if (turn === this.#turn) this.#refused(error);
    }
  }

  /** Begins an anonymous conversation. @throws HubError when it may succeed later, or another address is needed. */
  introduce(introduction: Introduction): Promise<void> {
    const introducing = this.#introduce(introduction).finally(() => {
      if (this.#introducing === introducing) this.#introducing = null;
    });
    this.#introducing = introducing;
    return introducing;
  }

  async #introduce({ content, ...who }: Introduction): Promise<void> {
    const body = { siteKey: this.#options.address.siteKey, ...who };
    const turn = this.#begin();
    try {
      await this.#use(await call<VisitorSession>('token', { method: 'POST', body }), { isKnown: false, turn });
      if (turn === this.#turn) this.#open?.conversation.send(content, []);
    } catch (error) {
      if (turn !== this.#turn) return;
      if (this.#token !== null) {
        // The visitor has signed in meanwhile: the text is sent in the session of the token.
        this.#waiting.push(content);
        return;
      }
      if (!(error instanceof HubError)) throw error;
      if (error.isPassing) this.#tellError(error);
      if (error.isPassing || error.code === 'validation_failed') throw error;
      this.#refused(error);
    }
  }

  /** A newer token of the host's. A pending anonymous conversation begins first, so that the token's visitor gets its message. */
  async renewToken(token: string): Promise<void> {
    this.#token = token;
    await this.#introducing?.catch(() => undefined);
    await this.start();
  }

  /** A new conversation after the old one was closed; what was typed and chosen goes into it. @throws HubError when it may succeed later. */
  async beginAnew(): Promise<void> {
    const turn = this.#begin();
    try {
      const session = await this.#open?.session.call<VisitorSession>('conversations', { method: 'POST' });
      if (session !== undefined) await this.#use(session, { isKnown: this.#isKnown(), turn });
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error instanceof HubError && (error.isPassing || error.status === 409)) throw error;
      this.#refused(error);
    }
  }

  /** Opens the conversation that an agent started after this one was closed. All of its messages are news. */
  async #goOn(): Promise<void> {
    const turn = this.#begin();
    try {
      const session = await this.#open?.session.call<VisitorSession>('conversations', { method: 'POST' });
      if (session === undefined || turn !== this.#turn) return;
      this.#options.kept.set(reportedKey(session.conversation.id), 0);
      await this.#use(session, { isKnown: this.#isKnown(), turn });
    } catch (error) {
      // The closed conversation stays, and its button leads to the new one.
      if (turn === this.#turn && !(error instanceof HubError && (error.isPassing || error.status === 409)))
        this.#refused(error);
    }
  }

  /** Sends what is in the draft and the files that arrived. */
  send(): void {
    const content = this.#draft.text.trim();
    const attachments = this.#open?.uploads.take() ?? [];
    if (content === '' && attachments.length === 0) return;
    this.#open?.conversation.send(content, attachments);
    this.#open?.uploads.dropRefused();
    this.setDraft('');
  }

  /** Sends a text of the host's: as soon as there is a session, or with what its visitor writes where they are asked who they are. */
  sendText(content: string): void {
    const { phase } = this.#options.store.state;
    if (phase === 'chat') this.#open?.conversation.send(content, []);
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(content);
    if (phase === 'start') this.#askWho();
  }

  setDraft(text: string): void {
    this.#draft.set(text);
    this.#open?.conversation.typed(text);
  }

  /** @returns false if there were more than a message takes. */
  addFiles(files: readonly File[]): boolean {
    return this.#open?.uploads.add(files) ?? true;
  }

  removeFile(key: number): void {
    this.#open?.uploads.remove(key);
  }

  /** @returns false if there are already as many as a message takes. */
  retryFile(key: number): boolean {
    return this.#open?.uploads.retry(key) ?? true;
  }

  retry(clientId: string): void {
    this.#open?.conversation.retry(clientId);
  }

  drop(clientId: string): void {
    this.#open?.conversation.drop(clientId);
  }

  readOlder(): Promise<void> {
    return this.#open?.conversation.readOlder() ?? Promise.resolve();
  }

  /** @throws HubError */
  async rate(score: number, comment: string): Promise<void> {
    type Rating = NonNullable<VisitorSession['conversation']['rating']>;
    const rating = await this.#open?.session.call<Rating>('rating', { method: 'POST', body: { score, comment } });
    const { conversation } = this.#options.store.state;
    if (rating !== undefined && conversation !== null) this.#open?.conversation.update({ ...conversation, rating });
  }

  /** The reader scrolled, or came back. */
  looked(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    this.#looked();
  }

  /** Whether a part may take the focus: not in a frame that is hidden, or that was open before its page loaded. */
  get mayTakeFocus(): boolean {
    return this.#mayTakeFocus || document.hasFocus();
  }

  /** @param takeFocus whether the visitor opened it just now. */
  setShown(isShown: boolean, takeFocus: boolean): void {
    this.#isShown = isShown;
    this.#mayTakeFocus = isShown && takeFocus;
    this.#looked();
  }

  /** Asks the page around it to close it. */
  leave(): void {
    this.#options.tellHost({ type: 'close' });
  }

  /** Forgets all that the tab has of it. */
  wipe(): void {
    this.#begin();
    this.#end();
    this.#waiting = [];
    this.#left = null;
    this.#options.kept.wipe();
  }

  #isAtEnd = true;

  #looked(): void {
    this.#open?.conversation.looked(this.#isAtEnd);
    this.#attention.show(this.#options.store.state.unread);
  }

  /** Whether somebody's token led here, now or before a reload. */
  #isKnown(): boolean {
    return this.#token !== null || this.#options.kept.get<KeptSession>('session')?.isKnown === true;
  }

  #isSeen(): boolean {
    return this.#isShown && !document.hidden;
  }

  #begin(): number {
    return (this.#turn += 1);
  }

  #askWho(): void {
    this.#options.tellHost({ type: 'session', until: 0, isKnown: false });
    this.#draft.set([this.#draft.text, ...this.#waiting.splice(0)].filter((text) => text !== '').join('\n'));
    this.#options.store.set({ phase: 'start' });
  }

  /** Whether what the tab kept led anywhere; a session of nobody that is over is just forgotten. @throws HubError */
  async #resume({ token, isKnown }: KeptSession, turn: number): Promise<boolean> {
    try {
      const session = await call<VisitorSession>('renew', { method: 'POST', token });
      announceRenewal(token, session);
      await this.#use(session, { isKnown, turn });
      return true;
    } catch (error) {
      if (turn !== this.#turn) return true;
      if (!(error instanceof HubError) || error.status !== 401) throw error;
      if (isKnown) throw new HubError(401, 'chat_token_expired', error.message);
      this.#options.kept.wipe();
      return false;
    }
  }

  async #use(session: VisitorSession, { isKnown, turn }: { isKnown: boolean; turn: number }): Promise<void> {
    const { store, kept, tellHost } = this.#options;
    if (turn !== this.#turn) return;
    this.#end();
    const keep = ({ token, expiresAt }: VisitorSession) => {
      kept.set('session', { token, isKnown } satisfies KeptSession);
      tellHost({ type: 'session', until: isKnown ? Date.now() + knownVisitMs : Date.parse(expiresAt), isKnown });
    };
    keep(session);
    await this.#dress(session.settings);
    if (turn !== this.#turn) return;
    this.#draft.belongTo(session.visitorId, session.carriedOver);
    const open = new OpenChat(session, {
      store,
      kept,
      isSeen: () => this.#isSeen(),
      onIncoming: (message) => {
        tellHost({ type: 'message', message });
        if (!this.#isSeen()) this.#attention.sound();
      },
      onReturned: (text) => this.#draft.set(text),
      onContinued: () => void this.#goOn(),
      onRenewed: (renewed) => {
        keep(renewed);
        store.set({ settings: renewed.settings });
      },
      onRefused: (error) => this.#refused(error),
    });
    this.#open = open;
    store.set({ phase: 'chat', typing: null, partial: '', unread: 0, isConnected: true });
    void open.conversation.start();
    if (this.#left?.visitorId === session.visitorId || session.carriedOver)
      open.uploads.carryOver(this.#left?.uploads ?? []);
    for (const text of this.#waiting.splice(0)) open.conversation.send(text, []);
  }

  /** Puts on the language and the colour of the workspace. */
  async #dress(settings: ChatPageSettings): Promise<void> {
    this.#options.store.set({ settings });
    await this.#wear(settings);
  }

  #wear(look: Look): Promise<void> {
    return wear(look, this.#options, this.#attention);
  }

  #refused(error: unknown): void {
    if (!(error instanceof HubError)) throw error;
    const isKnown = this.#isKnown();
    const problem = problemOf(error, { hasAny: isKnown || this.#open !== null, isKnown });
    if (problem === 'expired') this.#options.tellHost({ type: 'token-expired' });
    if (problem !== 'needed') this.#tellError(error);
    this.#fail(problem);
  }

  #tellError(error: HubError): void {
    this.#options.tellHost({ type: 'error', code: error.code, message: forDevelopers(error) });
  }

  #fail(problem: Problem): void {
    const { store, kept, tellHost } = this.#options;
    this.#end();
    if (problem !== 'unreachable' && problem !== 'blocked') tellHost({ type: 'session', until: 0, isKnown: false });
    if (problem === 'needed') tellHost(tokenRequired);
    if (problem === 'expired') kept.set('session', null);
    else if (problem !== 'unreachable' && problem !== 'blocked') kept.wipe();
    store.set({ phase: 'problem', problem, conversation: null, chunks: [], outgoing: [], hasOlder: false });
    store.set({ unread: 0, typing: null, partial: '' });
  }

  #end(): void {
    const open = this.#open;
    if (open === null) return;
    this.#left = { visitorId: open.session.visitorId, uploads: this.#options.store.state.uploads };
    this.#open = null;
    open[Symbol.dispose]();
  }
}
