import type { ChatPageSettings, VisitorSession } from '../../../shared/contract/chat/visitor-page.ts';
import { background } from '../../../shared/web/background.ts';
import { call, HubError } from './api.ts';
import type { AnonymousStart, ChatOptions } from './chat-options.ts';
import { reportedKey } from './conversation.ts';
import { Draft } from './draft.ts';
import type { FileUrls } from './file-urls.ts';
import { postUnreadCounts } from './host.ts';
import { OpenChat } from './open-chat.ts';
import { moveOutbox } from './outbox.ts';
import { developerMessage, problemOf, tokenRequired } from './problems.ts';
import { announceRenewal } from './session.ts';
import type { Problem } from './state.ts';
import type { StoredSession } from './tab-storage.ts';
import { applyTheme, themeFromPage } from './theme.ts';
import type { Theme } from './theme.ts';
import { UnreadAlert } from './unread-alert.ts';
import type { Upload } from './uploads.ts';

/** Limit for texts of the host that wait for a session. Further texts are dropped. */
const maxPendingTexts = 20;
/** After opening the chat, an identified visitor is checked for unread messages on the site's pages for this time. */
const identifiedVisitMs = 30 * 24 * 60 * 60 * 1_000;

/** The chat of a visitor: starts or resumes a session and carries out the visitor's actions. */
export class Chat {
  readonly #options: ChatOptions;
  readonly #unreadAlert = new UnreadAlert();
  #token: string | null;
  #open: OpenChat | null = null;
  #isShown: boolean;
  #mayTakeFocus: boolean;
  readonly #draft: Draft;
  /** Texts of the host that wait for a session. */
  #pendingTexts: string[] = [];
  /** Visitor and uploads of the previous session. */
  #previous: { visitorId: string; uploads: readonly Upload[] } | null = null;
  /** Number of the latest attempt to start a session. An earlier attempt that is still running stops. */
  #latestAttempt = 0;
  /** The pending start of an anonymous conversation. */
  #startingAnonymous: Promise<void> | null = null;
  readonly askForPerson = () => this.#open?.conversation.askForPerson();

  constructor(options: ChatOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#isShown = !options.address.isEmbedded;
    this.#mayTakeFocus = this.#isShown;
    this.#draft = new Draft(options.store, options.storage);
    document.addEventListener('visibilitychange', () => this.#updateReadState());
    options.sharedSession?.offer(() => (this.#open === null ? null : options.storage.get<StoredSession>('session')));
    options.store.subscribe(() => this.#unreadAlert.showCount(options.store.state.unread));
    postUnreadCounts(options.store, options.postToHost);
  }

  /** Files of the conversation; null without an open conversation. */
  get fileUrls(): FileUrls | null {
    return this.#open?.fileUrls ?? null;
  }

  /** Starts with the token, else with the stored session, else anonymously if the workspace allows it. */
  async start(): Promise<void> {
    const { address, store, storage, sharedSession } = this.#options;
    const attempt = this.#beginAttempt();
    store.set({ phase: 'loading' });
    const stored = storage.get<StoredSession>('session');
    try {
      // A problem page uses the language and color of the workspace, too.
      await this.#applyTheme(themeFromPage(store.state.title));
      if (attempt !== this.#latestAttempt) return;
      if (this.#token !== null) {
        // A session started by a token or a link may be another visitor's. An anonymous session belongs to the visitor
        // who signs in now.
        const isAnonymous = address.isEmbedded && stored?.isKnown !== true;
        if (!isAnonymous) storage.set('session', null);
        const anonymous = isAnonymous ? (stored ?? (await sharedSession?.find()) ?? null) : null;
        if (attempt !== this.#latestAttempt) return;
        const body = {
          siteKey: address.siteKey,
          token: this.#token,
          ...(anonymous === null ? {} : { anonymousSession: anonymous.token }),
        };
        await this.#useSession(await call<VisitorSession>('token', { method: 'POST', body }), {
          isKnown: true,
          attempt,
        });
        return;
      }
      const found = stored ?? (await sharedSession?.find()) ?? null;
      if (attempt !== this.#latestAttempt) return;
      // Without the host's token, a frame does not resume the session of an identified visitor.
      const usable = found !== null && !(found.isKnown && address.isEmbedded) ? found : null;
      if (usable !== null && (await this.#resumeSession(usable, attempt))) return;
      const settings = await call<ChatPageSettings>('page', { query: { siteKey: address.siteKey } });
      if (attempt !== this.#latestAttempt) return;
      await this.#applySettings(settings);
      if (attempt !== this.#latestAttempt) return;
      if (settings.allowAnonymous) this.#showStartForm();
      else this.#showProblem('needed');
    } catch (error) {
      if (attempt === this.#latestAttempt) this.#onRefused(error);
    }
  }

  /**
   * Starts an anonymous conversation. @throws HubError if a retry may succeed or the email address must be corrected.
   */
  startAnonymous(details: AnonymousStart): Promise<void> {
    const starting = this.#sendAnonymousStart(details).finally(() => {
      if (this.#startingAnonymous === starting) this.#startingAnonymous = null;
    });
    this.#startingAnonymous = starting;
    return starting;
  }

  async #sendAnonymousStart({ content, ...contact }: AnonymousStart): Promise<void> {
    const body = { siteKey: this.#options.address.siteKey, ...contact };
    const attempt = this.#beginAttempt();
    try {
      await this.#useSession(await call<VisitorSession>('token', { method: 'POST', body }), {
        isKnown: false,
        attempt,
      });
      if (attempt === this.#latestAttempt) this.#open?.conversation.send(content, []);
    } catch (error) {
      if (attempt !== this.#latestAttempt) return;
      if (this.#token !== null) {
        // The visitor has signed in meanwhile: the text is sent in the session of the token.
        this.#pendingTexts.push(content);
        return;
      }
      if (!(error instanceof HubError)) throw error;
      if (error.isTemporary) this.#postError(error);
      if (error.isTemporary || error.code === 'validation_failed') throw error;
      this.#onRefused(error);
    }
  }

  /**
   * Sets a newer token from the host. A pending anonymous conversation starts first, so that the visitor of the token
   * keeps its message.
   */
  async renewToken(token: string): Promise<void> {
    this.#token = token;
    await this.#startingAnonymous?.catch(() => undefined);
    await this.start();
  }

  /**
   * Starts a new conversation after the old one was closed. The draft and the files move to it. @throws HubError if a
   * retry may succeed.
   */
  async startNewConversation(): Promise<void> {
    const attempt = this.#beginAttempt();
    try {
      const session = await this.#open?.session.call<VisitorSession>('conversations', { method: 'POST' });
      if (session !== undefined) await this.#useSession(session, { isKnown: this.#isKnown(), attempt });
    } catch (error) {
      if (attempt !== this.#latestAttempt) return;
      if (error instanceof HubError && (error.isTemporary || error.status === 409)) throw error;
      this.#onRefused(error);
    }
  }

  /**
   * Opens the conversation that an agent started after this one was closed. All of its messages are reported as new.
   */
  async #openContinuation(): Promise<void> {
    const attempt = this.#beginAttempt();
    try {
      const session = await this.#open?.session.call<VisitorSession>('conversations', { method: 'POST' });
      if (session === undefined || attempt !== this.#latestAttempt) return;
      this.#options.storage.set(reportedKey(session.conversation.id), 0);
      await this.#useSession(session, { isKnown: this.#isKnown(), attempt });
    } catch (error) {
      // On failure the closed conversation stays, and its button leads to the new one.
      if (
        attempt === this.#latestAttempt &&
        !(error instanceof HubError && (error.isTemporary || error.status === 409))
      )
        this.#onRefused(error);
    }
  }

  /** Sends the draft and the uploaded files. */
  send(): void {
    const content = this.#draft.text.trim();
    const attachments = this.#open?.uploads.takeUploaded() ?? [];
    if (content === '' && attachments.length === 0) return;
    this.#open?.conversation.send(content, attachments);
    this.#open?.uploads.removeUnsendable();
    this.setDraft('');
  }

  /** Sends a text of the host. Before there is a session the text waits; at the start form it is added to the draft. */
  sendText(content: string): void {
    const { phase } = this.#options.store.state;
    if (phase === 'chat') this.#open?.conversation.send(content, []);
    else if (this.#pendingTexts.length < maxPendingTexts) this.#pendingTexts.push(content);
    if (phase === 'start') this.#showStartForm();
  }

  setDraft(text: string): void {
    this.#draft.set(text);
    this.#open?.conversation.draftChanged(text);
  }

  /** @returns false if there are more files than a message allows. */
  addFiles(files: readonly File[]): boolean {
    return this.#open?.uploads.add(files) ?? true;
  }

  removeFile(key: number): void {
    this.#open?.uploads.remove(key);
  }

  /** @returns false if the message already has the maximum number of files. */
  retryFile(key: number): boolean {
    return this.#open?.uploads.retry(key) ?? true;
  }

  retry(clientId: string): void {
    this.#open?.conversation.retry(clientId);
  }

  discard(clientId: string): void {
    this.#open?.conversation.discard(clientId);
  }

  loadOlder(): Promise<void> {
    return this.#open?.conversation.loadOlder() ?? Promise.resolve();
  }

  /** @throws HubError */
  async rate(score: number, comment: string): Promise<void> {
    type Rating = NonNullable<VisitorSession['conversation']['rating']>;
    const rating = await this.#open?.session.call<Rating>('rating', { method: 'POST', body: { score, comment } });
    const { conversation } = this.#options.store.state;
    if (rating !== undefined && conversation !== null) this.#open?.conversation.update({ ...conversation, rating });
  }

  /** Reports whether the message list is scrolled to its end. */
  setAtEnd(isAtEnd: boolean): void {
    this.#isAtEnd = isAtEnd;
    this.#updateReadState();
  }

  /**
   * Whether parts of the page may take the focus: not in a hidden frame, nor in a frame that was open before its page
   * loaded.
   */
  get mayTakeFocus(): boolean {
    return this.#mayTakeFocus || document.hasFocus();
  }

  /** @param takeFocus whether the visitor has just opened the chat. */
  setShown(isShown: boolean, takeFocus: boolean): void {
    this.#isShown = isShown;
    this.#mayTakeFocus = isShown && takeFocus;
    this.#updateReadState();
  }

  /** Requests the host's page to close the chat. */
  close(): void {
    this.#options.postToHost({ type: 'close' });
  }

  /** Ends the session and deletes all stored values of the tab. */
  wipe(): void {
    this.#beginAttempt();
    this.#closeChat();
    this.#pendingTexts = [];
    this.#previous = null;
    this.#options.storage.wipe();
  }

  #isAtEnd = true;

  #updateReadState(): void {
    this.#open?.conversation.setAtEnd(this.#isAtEnd);
    this.#unreadAlert.showCount(this.#options.store.state.unread);
  }

  /** Whether a token identified the visitor, now or before a reload. */
  #isKnown(): boolean {
    return this.#token !== null || this.#options.storage.get<StoredSession>('session')?.isKnown === true;
  }

  #isVisible(): boolean {
    return this.#isShown && !document.hidden;
  }

  #beginAttempt(): number {
    return (this.#latestAttempt += 1);
  }

  #showStartForm(): void {
    this.#options.postToHost({ type: 'session', until: 0, isKnown: false });
    this.#draft.set([this.#draft.text, ...this.#pendingTexts.splice(0)].filter((text) => text !== '').join('\n'));
    this.#options.store.set({ phase: 'start' });
  }

  /**
   * Resumes the stored session. Returns false if an anonymous session has expired; its stored values are deleted.
   * @throws HubError
   */
  async #resumeSession({ token, isKnown }: StoredSession, attempt: number): Promise<boolean> {
    try {
      const session = await call<VisitorSession>('renew', { method: 'POST', token });
      announceRenewal(token, session);
      await this.#useSession(session, { isKnown, attempt });
      return true;
    } catch (error) {
      if (attempt !== this.#latestAttempt) return true;
      if (!(error instanceof HubError) || error.status !== 401) throw error;
      if (isKnown) throw new HubError(401, 'chat_token_expired', error.message);
      this.#options.storage.wipe();
      return false;
    }
  }

  async #useSession(
    session: VisitorSession,
    { isKnown, attempt }: { isKnown: boolean; attempt: number },
  ): Promise<void> {
    const { store, storage, postToHost } = this.#options;
    if (attempt !== this.#latestAttempt) return;
    this.#closeChat();
    const { id: conversationId } = session.conversation;
    const before = storage.get<StoredSession>('session')?.conversationId;
    // Messages that were not sent before the sign-in are sent to the conversation of the identified visitor.
    if (session.carriedOver && before !== undefined) moveOutbox(storage, before, conversationId);
    const storeSession = ({ token, expiresAt }: VisitorSession) => {
      storage.set('session', { token, isKnown, conversationId } satisfies StoredSession);
      postToHost({ type: 'session', until: isKnown ? Date.now() + identifiedVisitMs : Date.parse(expiresAt), isKnown });
    };
    storeSession(session);
    await this.#applySettings(session.settings);
    if (attempt !== this.#latestAttempt) return;
    this.#draft.assignTo(session.visitorId, session.carriedOver);
    const open = new OpenChat(session, {
      store,
      storage,
      isVisible: () => this.#isVisible(),
      onIncoming: (message) => {
        postToHost({ type: 'message', message });
        if (!this.#isVisible()) this.#unreadAlert.playSound();
      },
      onReturned: (text) => this.#draft.set(text),
      onContinued: () => background(this.#openContinuation()),
      onRenewed: (renewed) => {
        storeSession(renewed);
        store.set({ settings: renewed.settings });
      },
      onRefused: (error) => this.#onRefused(error),
    });
    this.#open = open;
    store.set({ phase: 'chat', typing: null, partial: '', unread: 0, isConnected: true });
    background(open.conversation.start());
    if (this.#previous?.visitorId === session.visitorId || session.carriedOver)
      open.uploads.carryOver(this.#previous?.uploads ?? []);
    for (const text of this.#pendingTexts.splice(0)) open.conversation.send(text, []);
  }

  /** Applies the settings, the language and the color of the workspace. */
  async #applySettings(settings: ChatPageSettings): Promise<void> {
    this.#options.store.set({ settings });
    await this.#applyTheme(settings);
  }

  #applyTheme(theme: Theme): Promise<void> {
    return applyTheme(theme, this.#options, this.#unreadAlert);
  }

  #onRefused(error: unknown): void {
    if (!(error instanceof HubError)) throw error;
    const isKnown = this.#isKnown();
    const problem = problemOf(error, { hasCredentials: isKnown || this.#open !== null, isKnown });
    if (problem === 'expired') this.#options.postToHost({ type: 'token-expired' });
    if (problem !== 'needed') this.#postError(error);
    this.#showProblem(problem);
  }

  #postError(error: HubError): void {
    this.#options.postToHost({ type: 'error', code: error.code, message: developerMessage(error) });
  }

  #showProblem(problem: Problem): void {
    const { store, storage, postToHost } = this.#options;
    this.#closeChat();
    if (problem !== 'unreachable' && problem !== 'blocked') postToHost({ type: 'session', until: 0, isKnown: false });
    if (problem === 'needed') postToHost(tokenRequired);
    if (problem === 'expired') storage.set('session', null);
    else if (problem !== 'unreachable' && problem !== 'blocked') storage.wipe();
    store.set({ phase: 'problem', problem, conversation: null, chunks: [], outgoing: [], hasOlder: false });
    store.set({ unread: 0, typing: null, partial: '' });
  }

  #closeChat(): void {
    const open = this.#open;
    if (open === null) return;
    this.#previous = { visitorId: open.session.visitorId, uploads: this.#options.store.state.uploads };
    this.#open = null;
    open[Symbol.dispose]();
  }
}
