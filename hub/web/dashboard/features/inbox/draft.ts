import { ApiError } from '../../../../../shared/client/client.ts';
import type { ChatDraft, InboxMessage } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { Store } from '../../../../../shared/web/store.ts';
import { client } from '../../app/api.ts';
import { noteFailure } from '../../app/session-state.ts';
import {
  emptyText,
  isBlank,
  isSame,
  joinOutgoing,
  kindOf,
  newClientId,
  readStoredDraft,
  withoutReturned,
} from './draft-text.ts';
import type { DraftKind, DraftText, Outgoing, StoredDraft } from './draft-text.ts';
import { Uploads } from './uploads.ts';

export interface DraftState {
  /** The text that the page shows. */
  kind: DraftKind;
  reply: DraftText;
  note: DraftText;
  /** Files that the last choice had beyond `maxFiles`. */
  refusedFiles: number;
  /** Whether the hub has the text. It keeps one for each conversation: the shown one, or the other if that is empty. */
  isSaved: boolean;
  /** What is being sent, one after the other. */
  outgoing: readonly Outgoing[];
  problem: unknown;
}

type SendResult = { message: InboxMessage } | { problem: unknown } | null;

const saveAfterMs = 800;
const saveAgainMs = 5_000;
export const maxFiles = 5;

/**
 * The reply and the note of an agent in one conversation. They belong to the conversation and not to the page, so that
 * a text never reaches another chat and is not lost. They are two texts, so that a note never becomes a reply.
 */
export class Draft {
  readonly store: Store<DraftState>;
  readonly #params: { tenantId: string; id: string };
  readonly #storageKey: string;
  readonly #onChange: () => void;
  /** The newest draft of the hub that this page knows. */
  #saved: StoredDraft['saved'];
  /** Whether the text comes from the storage of the browser, and nothing newer is known. */
  #isRestored: boolean;
  /** What came back because no response arrived, or what another page was sending. The hub may have it. */
  #returned: readonly Outgoing[];
  /** Client ids of what this page has sent or taken over. Other pages of the browser send the rest of the stored texts. */
  readonly #ownIds: Set<string>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saving: Promise<void> | null = null;
  #sending: Promise<unknown> = Promise.resolve();
  readonly #uploads: Uploads;

  constructor(params: { tenantId: string; id: string }, storageKey: string, onChange: () => void) {
    this.#params = params;
    this.#uploads = new Uploads(params);
    this.#storageKey = storageKey;
    this.#onChange = onChange;
    const stored = readStoredDraft(localStorage.getItem(storageKey));
    this.#saved = stored?.saved ?? null;
    this.#isRestored = stored !== null;
    this.#returned = stored?.outgoing ?? [];
    this.#ownIds = new Set(this.#returned.map(({ clientId }) => clientId));
    const { reply, note, kind } = stored ?? { reply: emptyText, note: emptyText, kind: 'reply' };
    this.store = new Store<DraftState>({
      kind,
      reply,
      note,
      refusedFiles: 0,
      isSaved: stored?.isSaved ?? true,
      outgoing: [],
      problem: null,
    });
    if (stored?.hasExpired === true) this.#keep();
    this.flush();
  }

  get isEmpty(): boolean {
    return isBlank(this.store.state.reply) && isBlank(this.store.state.note);
  }

  /** The text that the page shows. */
  get text(): DraftText {
    return this.store.state[this.store.state.kind];
  }

  /** The kind of the text that the hub keeps. */
  get #savedKind(): DraftKind {
    const { kind, reply, note } = this.store.state;
    const other = kind === 'reply' ? 'note' : 'reply';
    return { reply, note }[kind].content === '' && { reply, note }[other].content !== '' ? other : kind;
  }

  /** Takes over a draft that another browser of the agent saved later, unless this page has an unsaved text. */
  adopt(draft: ChatDraft | null): void {
    const { isSaved, outgoing, kind } = this.store.state;
    const isRestored = this.#isRestored;
    this.#isRestored = false;
    if (!isSaved || outgoing.length > 0) return;
    if (draft === null) {
      // Another browser sent or deleted what this one has stored.
      if (isRestored && this.#saved !== null) this.#set({ [this.#saved.kind]: emptyText });
      this.#keep();
    } else if (draft.updatedAt > (this.#saved?.at ?? '')) {
      const saved = kindOf(draft.private);
      this.#saved = { kind: saved, at: draft.updatedAt };
      const isKnown = this.store.state[saved].content === draft.content;
      const text = { ...emptyText, content: draft.content, seenAt: draft.updatedAt };
      this.#set({ kind: isBlank(this.text) ? saved : kind, ...(isKnown ? {} : { [saved]: text }) });
      this.#keep();
    }
  }

  /** Takes over what another tab of this browser wrote or sent, unless this page has an unsaved text. */
  noteStored(value: string | null): void {
    const { isSaved, outgoing } = this.store.state;
    if (!isSaved || outgoing.length > 0) return;
    const stored = readStoredDraft(value, { isSentElsewhere: true });
    this.#saved = stored?.saved ?? this.#saved;
    this.#set({ reply: stored?.reply ?? emptyText, note: stored?.note ?? emptyText });
  }

  /** Removes a text that the agent has sent since it was saved: in another tab, or by a request without a response. */
  noteSent(sent: readonly InboxMessage[]): void {
    const arrived = this.#returned.filter((each) => sent.some(({ clientId }) => clientId === each.clientId));
    this.#returned = this.#returned.filter((each) => !arrived.includes(each));
    for (const each of arrived) this.#change(each.kind, withoutReturned(this.store.state[each.kind], each));
    if (arrived.length > 0) return;
    const { isSaved, outgoing } = this.store.state;
    const saved = this.#saved;
    if (saved === null || !isSaved || outgoing.length > 0) return;
    const { content, files } = this.store.state[saved.kind];
    const text = content.trim();
    if (text === '' || files.length > 0) return;
    const message = sent.findLast((each) => each.content === text && kindOf(each.private) === saved.kind);
    if (message === undefined || message.createdAt <= saved.at) return;
    this.#saved = { ...saved, at: message.createdAt };
    this.#set({ [saved.kind]: emptyText, problem: null });
    this.#keep();
  }

  /** Changes the shown text. @param lastSeq `seq` of the newest message that the page shows. */
  edit(content: string, lastSeq: number): void {
    const { text } = this;
    const seenSeq = text.seenSeq ?? (text.seenAt === null ? lastSeq : null);
    const seen = content === '' ? { seenSeq: null, seenAt: null } : { seenSeq };
    this.#change(this.store.state.kind, { ...text, content, ...seen });
  }

  /** Shows the other text. */
  show(kind: DraftKind): void {
    if (this.store.state.kind === kind) return;
    const before = this.#savedKind;
    this.#set({ kind, problem: null, refusedFiles: 0 });
    if (this.#savedKind !== before) this.#change(kind, this.text);
    else this.#keep();
  }

  /** The agent has read the replies that colleagues wrote meanwhile. */
  noteSeen(seenSeq: number): void {
    this.#set({ reply: { ...this.store.state.reply, seenSeq, seenAt: null } });
    this.#keep();
  }

  async attach(files: readonly File[]): Promise<void> {
    const { kind } = this.store.state;
    const accepted = files.slice(0, Math.max(0, maxFiles - this.text.files.length - this.text.uploads));
    this.#set({ refusedFiles: files.length - accepted.length, problem: null });
    await this.#uploads.start(accepted, {
      onChange: (by) => this.#set({ [kind]: { ...this.store.state[kind], ...by(this.store.state[kind]) } }),
      onFailure: (problem) => this.#set({ problem }),
    });
  }

  detach(fileId: string): void {
    const { text } = this;
    const files = text.files.filter(({ id }) => id !== fileId);
    this.#set({ [this.store.state.kind]: { ...text, files }, refusedFiles: 0 });
  }

  /**
   * Sends the shown text, after those that are still being sent. It leaves the draft immediately, so that the agent can
   * write the next one, and returns to it if the hub does not accept it or one before it.
   * @returns the message; its problem; null if there was nothing to send, or if an earlier one had a problem.
   */
  async send(lastSeenSeq: number): Promise<SendResult> {
    const { kind } = this.store.state;
    const { text } = this;
    if (isBlank(text)) return null;
    const content = text.content.trim();
    // A repeated request with the same id is stored once.
    const clientId = this.#returned.find((each) => isSame(each, { ...text, kind, content }))?.clientId ?? newClientId();
    const outgoing: Outgoing = { ...text, kind, content, clientId, sentAt: new Date().toISOString() };
    clearTimeout(this.#timer);
    this.#ownIds.add(clientId);
    this.#set({
      [kind]: { ...emptyText, uploads: text.uploads },
      outgoing: [...this.store.state.outgoing, outgoing],
      problem: null,
      refusedFiles: 0,
    });
    this.#keep();
    // A draft that arrives after the message would appear again.
    const earlier = Promise.allSettled([this.#sending, this.#saving]);
    const sending = this.#request(outgoing, lastSeenSeq, earlier);
    this.#sending = sending;
    return sending;
  }

  async #request(outgoing: Outgoing, lastSeenSeq: number, earlier: Promise<unknown>): Promise<SendResult> {
    await earlier;
    // It went back to the draft together with an earlier one.
    if (!this.store.state.outgoing.includes(outgoing)) return null;
    const { kind, content, clientId, files } = outgoing;
    try {
      const message = await client.call(
        'sendInboxMessage',
        {
          params: this.#params,
          body: {
            content,
            private: kind === 'note',
            clientId,
            attachmentIds: files.map(({ id }) => id),
            ...(kind === 'note' ? {} : { lastSeenSeq }),
          },
        },
        // The hub accepts a key for one body. After a newer reply, the same text is another request.
        { headers: { 'idempotency-key': kind === 'note' ? clientId : `${clientId}-${lastSeenSeq}` } },
      );
      this.#returned = this.#returned.filter((each) => each.clientId !== clientId);
      this.#saved = { kind, at: message.createdAt };
      // Sending deletes the draft of the hub, also that of the other kind.
      this.#set({
        outgoing: this.store.state.outgoing.filter((each) => each !== outgoing),
        isSaved: this.isEmpty,
      });
      this.#keep();
      if (!this.isEmpty) this.#saveLater(saveAfterMs);
      return { message };
    } catch (error) {
      noteFailure(error);
      this.#returned = [...this.#returned.filter((each) => each.clientId !== clientId), outgoing];
      const { outgoing: all, reply, note } = this.store.state;
      this.#set({
        reply: joinOutgoing(all, 'reply', reply),
        note: joinOutgoing(all, 'note', note),
        outgoing: [],
        isSaved: false,
        problem: error,
      });
      this.#keep();
      this.#saveLater(saveAfterMs);
      return { problem: error };
    }
  }

  /** Saves an unsaved text now. */
  flush(): void {
    if (!this.store.state.isSaved) this.#saveLater(0);
  }

  #change(kind: DraftKind, text: DraftText): void {
    this.#isRestored = false;
    this.#set({ [kind]: text, isSaved: false, problem: null, refusedFiles: 0 });
    this.#keep();
    this.#saveLater(saveAfterMs);
  }

  #set(change: Partial<DraftState>): void {
    const { isEmpty } = this;
    this.store.set(change);
    if (isEmpty !== this.isEmpty) this.#onChange();
  }

  /** Keeps the texts in the browser, until they are sent. */
  #keep(): void {
    const { kind, reply, note, outgoing: own, isSaved } = this.store.state;
    try {
      const { outgoing: known = [] } = readStoredDraft(localStorage.getItem(this.#storageKey)) ?? {};
      const outgoing = [...known.filter(({ clientId }) => !this.#ownIds.has(clientId)), ...own];
      const stored: StoredDraft = { kind, reply, note, outgoing, isSaved, saved: this.#saved };
      if (isSaved && outgoing.length === 0 && reply.content === '' && note.content === '')
        localStorage.removeItem(this.#storageKey);
      else localStorage.setItem(this.#storageKey, JSON.stringify(stored));
    } catch {
      // The storage of the browser is full or off. The hub still gets the draft.
    }
  }

  #saveLater(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#saving ??= this.#save().finally(() => {
        this.#saving = null;
      });
      background(this.#saving);
    }, ms);
  }

  async #save(): Promise<void> {
    const { isSaved, outgoing } = this.store.state;
    if (isSaved || outgoing.length > 0) return;
    const kind = this.#savedKind;
    const { content } = this.store.state[kind];
    try {
      const body = { content, private: kind === 'note' };
      const saved = await client.call('putInboxDraft', { params: this.#params, body });
      this.#saved = { kind, at: saved.updatedAt };
      // Each message deletes the draft of the hub. A missing draft does not mean that this text was sent.
      this.#isRestored = false;
      if (this.#savedKind === kind && this.store.state[kind].content === content) {
        this.#set({ isSaved: true });
        this.#keep();
      } else this.#saveLater(saveAfterMs);
    } catch (error) {
      noteFailure(error);
      // The conversation was erased, or the hub refuses the text: only a connection that returns helps.
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
      if (isRefused && error.status === 404) localStorage.removeItem(this.#storageKey);
      if (!isRefused || error.status === 401) this.#saveLater(saveAgainMs);
    }
  }
}
