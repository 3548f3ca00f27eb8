import { ApiError } from '../../../../../shared/client/client.ts';
import type { ChatAttachment, ChatDraft, InboxMessage } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { Store } from '../../../../../shared/web/store.ts';
import { client } from '../../app/api.ts';
import { noteFailure } from '../../app/session-state.ts';
import { uploadFile } from './files.ts';

export interface DraftState {
  content: string;
  isNote: boolean;
  files: readonly ChatAttachment[];
  /** Files that are being uploaded. */
  uploads: number;
  /** `seq` of the newest message when the agent began to write; null for an empty draft. */
  seenSeq: number | null;
  /** Whether the hub has the text. */
  isSaved: boolean;
  isSending: boolean;
  problem: unknown;
}

const saveAfterMs = 800;
const saveAgainMs = 5_000;
export const maxFiles = 5;

/** What this browser keeps until the hub has it. */
interface Stored {
  content: string;
  isNote: boolean;
}

const newClientId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * The reply or note that an agent writes in one conversation. It belongs to the conversation and not to the page, so
 * that a text never reaches another chat and is not lost when the agent opens another one.
 */
export class Draft {
  readonly store: Store<DraftState>;
  readonly #params: { tenantId: string; id: string };
  readonly #storageKey: string;
  readonly #onChange: () => void;
  /** Time of the newest draft of the hub that this page knows. */
  #savedAt = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #saving: Promise<void> | null = null;
  #sending: Promise<InboxMessage | null> | null = null;
  /** A repeated request with the same id is stored once. */
  #clientId = newClientId();

  constructor(params: { tenantId: string; id: string }, storageKey: string, onChange: () => void) {
    this.#params = params;
    this.#storageKey = storageKey;
    this.#onChange = onChange;
    const stored = readStored(storageKey);
    this.store = new Store<DraftState>({
      content: stored?.content ?? '',
      isNote: stored?.isNote ?? false,
      files: [],
      uploads: 0,
      seenSeq: null,
      isSaved: stored === null,
      isSending: false,
      problem: null,
    });
    if (stored !== null) this.#saveLater(0);
  }

  get isEmpty(): boolean {
    const { content, files } = this.store.state;
    return content.trim() === '' && files.length === 0;
  }

  /** Takes over a draft that another browser of the agent saved later, unless this page has an unsaved text. */
  adopt(draft: ChatDraft | null): void {
    const { isSaved, isSending } = this.store.state;
    if (draft === null || !isSaved || isSending || draft.updatedAt <= this.#savedAt) return;
    this.#savedAt = draft.updatedAt;
    this.#set({ content: draft.content, isNote: draft.private });
  }

  /** Removes the text if the agent has sent it since it was saved, in another tab or by a request without an answer. */
  noteSent(sent: readonly InboxMessage[]): void {
    const { content, isNote, files, isSaved, isSending } = this.store.state;
    const text = content.trim();
    if (text === '' || files.length > 0 || !isSaved || isSending) return;
    const message = sent.findLast((each) => each.content === text && each.private === isNote);
    if (message === undefined || message.createdAt <= this.#savedAt) return;
    this.#savedAt = message.createdAt;
    this.#set({ content: '', seenSeq: null, problem: null });
  }

  /** Changes the text, unless it is being sent. @param lastSeq `seq` of the newest message that the page shows. */
  edit(content: string, lastSeq: number): void {
    const { seenSeq, isSending } = this.store.state;
    if (isSending) return;
    this.#clientId = newClientId();
    this.#set({ content, seenSeq: content === '' ? null : (seenSeq ?? lastSeq), isSaved: false, problem: null });
    this.#store();
    this.#saveLater(saveAfterMs);
  }

  setNote(isNote: boolean): void {
    if (this.store.state.isNote === isNote || this.store.state.isSending) return;
    this.#clientId = newClientId();
    this.#set({ isNote, problem: null });
    if (this.store.state.content === '') return;
    this.#set({ isSaved: false });
    this.#store();
    this.#saveLater(saveAfterMs);
  }

  /** The agent has read the replies that colleagues wrote meanwhile. */
  noteSeen(lastSeq: number): void {
    this.#set({ seenSeq: lastSeq });
  }

  async attach(files: readonly File[]): Promise<void> {
    const room = maxFiles - this.store.state.files.length - this.store.state.uploads;
    const accepted = files.slice(0, Math.max(0, room));
    this.#set({ uploads: this.store.state.uploads + accepted.length, problem: null });
    await Promise.all(
      accepted.map(async (file) => {
        try {
          const attachment = await uploadFile(this.#params, file);
          // A file that is added while a message is sent belongs to the next one.
          await this.#sending;
          this.#clientId = newClientId();
          this.#set({ files: [...this.store.state.files, attachment] });
        } catch (error) {
          noteFailure(error);
          this.#set({ problem: error });
        } finally {
          this.#set({ uploads: this.store.state.uploads - 1 });
        }
      }),
    );
  }

  detach(fileId: string): void {
    if (this.store.state.isSending) return;
    this.#clientId = newClientId();
    this.#set({ files: this.store.state.files.filter(({ id }) => id !== fileId) });
  }

  /**
   * Sends the text. It stays in the draft until the hub has accepted it.
   * @returns the message; null if the hub refused it, with the reason in `problem`.
   */
  async send(lastSeenSeq: number): Promise<InboxMessage | null> {
    if (this.#sending !== null || this.isEmpty) return null;
    this.#sending = this.#send(lastSeenSeq).finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #send(lastSeenSeq: number): Promise<InboxMessage | null> {
    const { content, isNote, files } = this.store.state;
    clearTimeout(this.#timer);
    this.#set({ isSending: true, problem: null });
    try {
      // A draft that arrives after the message would appear again.
      await this.#saving;
      const message = await client.call('sendInboxMessage', {
        params: this.#params,
        body: {
          content: content.trim(),
          private: isNote,
          clientId: this.#clientId,
          attachmentIds: files.map(({ id }) => id),
          ...(isNote ? {} : { lastSeenSeq }),
        },
      });
      this.#clientId = newClientId();
      localStorage.removeItem(this.#storageKey);
      this.#savedAt = message.createdAt;
      // The next text is of the same kind: a second note must not become a reply.
      this.#set({ content: '', files: [], seenSeq: null, isSaved: true });
      return message;
    } catch (error) {
      noteFailure(error);
      this.#set({ problem: error });
      this.#saveLater(saveAfterMs);
      return null;
    } finally {
      this.#set({ isSending: false });
    }
  }

  /** Saves an unsaved text now. */
  flush(): void {
    if (!this.store.state.isSaved && !this.store.state.isSending) this.#saveLater(0);
  }

  #set(change: Partial<DraftState>): void {
    const { isEmpty } = this;
    this.store.set(change);
    if (isEmpty !== this.isEmpty) this.#onChange();
  }

  #store(): void {
    const { content, isNote } = this.store.state;
    const stored: Stored = { content, isNote };
    try {
      localStorage.setItem(this.#storageKey, JSON.stringify(stored));
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
    const { content, isNote, isSaved, isSending } = this.store.state;
    if (isSaved || isSending) return;
    try {
      const saved = await client.call('putInboxDraft', { params: this.#params, body: { content, private: isNote } });
      this.#savedAt = saved.updatedAt;
      const now = this.store.state;
      if (now.content === content && now.isNote === isNote) {
        localStorage.removeItem(this.#storageKey);
        this.#set({ isSaved: true });
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

function readStored(key: string): Stored | null {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? 'null') as Stored | null;
    return value !== null && typeof value.content === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** The drafts of the signed-in agent, one for each conversation. */
class Drafts {
  /** Conversations with a text or files that are not sent. */
  readonly written = new Store<{ ids: ReadonlySet<string> }>({ ids: new Set() });
  readonly #tenantId: string;
  readonly #prefix: string;
  readonly #drafts = new Map<string, Draft>();

  constructor(tenantId: string, userId: string) {
    this.#tenantId = tenantId;
    this.#prefix = `outrigger.draft.${tenantId}.${userId}.`;
    // Texts that an earlier page could not save.
    for (const key of Object.keys(localStorage))
      if (key.startsWith(this.#prefix)) this.of(key.slice(this.#prefix.length));
  }

  of(id: string): Draft {
    const known = this.#drafts.get(id);
    if (known !== undefined) return known;
    const draft = new Draft({ tenantId: this.#tenantId, id }, this.#prefix + id, () => this.#noteWritten(id));
    this.#drafts.set(id, draft);
    if (!draft.isEmpty) this.#noteWritten(id);
    return draft;
  }

  /** Saves all unsaved texts, after the connection returned or before the page is hidden. */
  flush(): void {
    for (const draft of this.#drafts.values()) draft.flush();
  }

  #noteWritten(id: string): void {
    const ids = new Set(this.written.state.ids);
    ids[this.#drafts.get(id)?.isEmpty === false ? 'add' : 'delete'](id);
    this.written.set({ ids });
  }
}

const ofAgents = new Map<string, Drafts>();

/** The drafts of an agent. They live as long as the page: their files are nowhere else. */
export function draftsOf(tenantId: string, userId: string): Drafts {
  const key = `${tenantId} ${userId}`;
  const drafts = ofAgents.get(key) ?? new Drafts(tenantId, userId);
  ofAgents.set(key, drafts);
  return drafts;
}
