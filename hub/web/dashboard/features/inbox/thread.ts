import type { InboxMessage } from '../../../../../shared/client/operations.ts';
import { background } from '../../../../../shared/web/background.ts';
import { Store } from '../../../../../shared/web/store.ts';
import { client } from '../../app/api.ts';
import { noteFailure } from '../../app/session-state.ts';

export interface ThreadState {
  /** Messages and notes without a gap, oldest first. */
  messages: readonly InboxMessage[];
  isLoaded: boolean;
  hasOlder: boolean;
  /** Whether newer messages exist than the last one of `messages`. */
  hasNewer: boolean;
  isReading: boolean;
  /** Whether nothing can be missing since the last connection: replies can be sent. */
  isCurrent: boolean;
  error: unknown;
}

const pageSize = 50;
/** Pages that are read after a pause; after a longer one, the thread starts again with the newest messages. */
const maxCatchUpPages = 4;

const seqOf = (message: InboxMessage) => message.seq ?? 0;

/** The messages of one conversation that the page has read. Live messages are added to the end. */
export class Thread {
  readonly store = new Store<ThreadState>({
    messages: [],
    isLoaded: false,
    hasOlder: false,
    hasNewer: false,
    isReading: false,
    isCurrent: false,
    error: null,
  });
  readonly #params: { tenantId: string; id: string };
  /** Only the newest reading changes the state. */
  #reading = 0;
  /** Newest position that the hub has named while messages were read. */
  #missed = 0;

  constructor(tenantId: string, id: string) {
    this.#params = { tenantId, id };
  }

  get lastPosition(): number {
    return this.store.state.messages.at(-1)?.position ?? 0;
  }

  /** `seq` of the newest message that the agent can have seen. */
  get lastSeq(): number {
    return this.store.state.messages.reduce((last, message) => Math.max(last, seqOf(message)), 0);
  }

  /** Shows the newest messages, or those around a position. */
  async open(at?: number): Promise<void> {
    const { messages, isLoaded, hasNewer } = this.store.state;
    if (isLoaded && at === undefined && !hasNewer) return this.catchUp();
    if (isLoaded && at !== undefined && messages.some(({ position }) => position === at)) return this.catchUp();
    return this.#read(async (isLatest) => {
      const before = at === undefined ? {} : { before: String(at + pageSize / 2) };
      const { data, meta } = await this.#list({ limit: pageSize, ...before });
      if (!isLatest()) return;
      // A full answer to `before` can be followed by newer messages.
      const mayHaveNewer = at !== undefined && (data.at(-1)?.position ?? 0) === at + pageSize / 2 - 1;
      this.store.set({
        messages: data,
        isLoaded: true,
        hasOlder: meta.nextCursor !== null,
        hasNewer: mayHaveNewer,
        isCurrent: true,
      });
    });
  }

  /** Shows the oldest messages. */
  async openOldest(): Promise<void> {
    await this.#read(async (isLatest) => {
      const { data, meta } = await this.#list({ limit: pageSize, after: '0' });
      if (isLatest())
        this.store.set({ messages: data, isLoaded: true, hasOlder: false, hasNewer: meta.nextCursor !== null });
    });
  }

  async readOlder(): Promise<void> {
    const { messages, hasOlder, isReading } = this.store.state;
    const [first] = messages;
    if (!hasOlder || isReading || first === undefined) return;
    await this.#read(async (isLatest) => {
      const { data, meta } = await this.#list({ limit: 2 * pageSize, before: String(first.position) });
      if (!isLatest()) return;
      this.store.set({ messages: [...data, ...this.store.state.messages], hasOlder: meta.nextCursor !== null });
    });
  }

  async readNewer(): Promise<void> {
    const { hasNewer, isReading } = this.store.state;
    if (!hasNewer || isReading) return;
    await this.#read(async (isLatest) => {
      const { data, meta } = await this.#list({ limit: pageSize, after: String(this.lastPosition) });
      if (!isLatest()) return;
      this.#append(data);
      this.store.set({ hasNewer: meta.nextCursor !== null });
    });
  }

  /** Reads what was written since the last message. */
  async catchUp(): Promise<void> {
    const { isLoaded, hasNewer } = this.store.state;
    if (!isLoaded) return this.open();
    if (hasNewer) {
      this.store.set({ isCurrent: true });
      return;
    }
    // A failure is repeated while the conversation is open, and replies wait until then.
    await this.#read(async (isLatest) => {
      for (let pages = 0; pages < maxCatchUpPages; pages += 1) {
        const { data, meta } = await this.#list({ limit: pageSize, after: String(this.lastPosition) });
        if (!isLatest()) return;
        this.#append(data);
        if (meta.nextCursor === null) {
          this.store.set({ isCurrent: true });
          return;
        }
      }
      const { data, meta } = await this.#list({ limit: pageSize });
      if (isLatest()) this.store.set({ messages: data, hasOlder: meta.nextCursor !== null, isCurrent: true });
    }, 'silent');
  }

  /** Adds a message of the live connection, or of a response. */
  receive(message: InboxMessage): void {
    const { isLoaded, hasNewer } = this.store.state;
    if (!isLoaded) this.#missed = Math.max(this.#missed, message.position);
    if (!isLoaded || hasNewer) return;
    if (message.position > this.lastPosition + 1) background(this.catchUp());
    else this.#append([message]);
  }

  /** Reads the missing messages if the conversation has newer ones. */
  notePosition(position: number): void {
    const { isLoaded, hasNewer, isReading } = this.store.state;
    if (!isLoaded || isReading) this.#missed = Math.max(this.#missed, position);
    else if (!hasNewer && position > this.lastPosition) background(this.catchUp());
  }

  /** Messages can be missing until the next `catchUp`. */
  noteLoss(): void {
    if (this.store.state.isCurrent) this.store.set({ isCurrent: false });
  }

  #append(added: readonly InboxMessage[]): void {
    const { messages } = this.store.state;
    const last = this.lastPosition;
    const news = added.filter(({ position }) => position > last);
    if (news.length > 0) this.store.set({ messages: [...messages, ...news] });
  }

  #list(query: { limit: number; before?: string; after?: string }) {
    return client.call('listInboxMessages', { params: this.#params, query });
  }

  async #read(read: (isLatest: () => boolean) => Promise<void>, failure: 'shown' | 'silent' = 'shown'): Promise<void> {
    this.#reading += 1;
    const reading = this.#reading;
    const isLatest = () => this.#reading === reading;
    this.store.set({ isReading: true, error: null });
    try {
      await read(isLatest);
    } catch (error) {
      noteFailure(error);
      if (!isLatest()) return;
      if (failure === 'shown') this.store.set({ error });
      else this.store.set({ isCurrent: false });
    } finally {
      if (isLatest()) {
        this.store.set({ isReading: false });
        const missed = this.#missed;
        // Only once: the hub may have named a message that is erased.
        this.#missed = 0;
        if (this.store.state.isLoaded) this.notePosition(missed);
      }
    }
  }
}

/** Threads stay in memory, so that an agent who returns to a conversation sees it immediately. */
const maxThreads = 20;

/** The threads that were open last. */
export class Threads {
  readonly #tenantId: string;
  readonly #threads = new Map<string, Thread>();

  constructor(tenantId: string) {
    this.#tenantId = tenantId;
  }

  of(id: string): Thread {
    const thread = this.#threads.get(id) ?? new Thread(this.#tenantId, id);
    this.#threads.delete(id);
    this.#threads.set(id, thread);
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > maxThreads && oldest !== undefined) this.#threads.delete(oldest);
    return thread;
  }

  find(id: string): Thread | undefined {
    return this.#threads.get(id);
  }

  noteLoss(): void {
    for (const thread of this.#threads.values()) thread.noteLoss();
  }
}
