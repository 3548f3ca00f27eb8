import type { Logger } from '../../../platform/observability/logger.ts';
import type { ConversationKey, FeedPage, LiveReads, WrittenEntry } from './reads.ts';

interface Feed extends ConversationKey {
  /** Up to where it was read; null until it was read the first time. */
  position: number | null;
  /** From where on it is read the first time. */
  from: { after: number; since: Date | null };
  /** Up to where something is known to be written. */
  writtenTo: number;
  usedAt: number;
}

/** After a read that failed the next one waits so long, in milliseconds. */
const retryMs = 500;
/** Conversations that one statement reads. */
const feedsAtOnce = 200;

/**
 * What is written in the conversations that somebody follows on this process: read once for all who follow it, in its order, each once. Reads
 * take turns, so that those of one moment are one statement.
 */
export class Feeds {
  readonly #reads: LiveReads;
  readonly #deliver: (key: ConversationKey, entries: readonly WrittenEntry[]) => void;
  readonly #logger: Logger;
  readonly #feeds = new Map<string, Feed>();
  readonly #due = new Set<Feed>();
  #isReading = false;

  constructor(
    reads: LiveReads,
    deliver: (key: ConversationKey, entries: readonly WrittenEntry[]) => void,
    logger: Logger,
  ) {
    this.#reads = reads;
    this.#deliver = deliver;
    this.#logger = logger;
  }

  has(conversationId: string): boolean {
    return this.#feeds.has(conversationId);
  }

  /** Begins to follow a conversation whose follower knows it up to a position; one that is followed goes on as it does. */
  begin({ tenantId, conversationId }: ConversationKey, position: number): void {
    if (this.#feeds.has(conversationId)) return;
    this.#feeds.set(conversationId, {
      tenantId,
      conversationId,
      position,
      from: { after: position, since: null },
      writtenTo: position,
      usedAt: performance.now(),
    });
  }

  /**
   * Has what was written up to a position read, unless it was.
   * @param from where one begins that is not followed yet.
   */
  written({ tenantId, conversationId }: ConversationKey, position: number, from: Feed['from']): void {
    const feed = this.#feeds.get(conversationId) ?? {
      tenantId,
      conversationId,
      position: null,
      from,
      writtenTo: 0,
      usedAt: 0,
    };
    this.#feeds.set(conversationId, feed);
    feed.usedAt = performance.now();
    feed.writtenTo = Math.max(feed.writtenTo, position);
    if (feed.position !== null && feed.position >= position) return;
    this.#due.add(feed);
    if (!this.#isReading) void this.#read();
  }

  forget(conversationId: string): void {
    const feed = this.#feeds.get(conversationId);
    if (feed !== undefined) this.#due.delete(feed);
    this.#feeds.delete(conversationId);
  }

  /** Forgets what was not written to for so long, and is not kept. */
  prune(idleMs: number, isKept: (key: ConversationKey) => boolean): void {
    const before = performance.now() - idleMs;
    for (const feed of this.#feeds.values())
      if (feed.usedAt < before && !this.#due.has(feed) && !isKept(feed)) this.#feeds.delete(feed.conversationId);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    // What is told in this turn of the loop is read together.
    await new Promise(setImmediate);
    while (this.#due.size > 0) {
      const feeds = [...this.#due].slice(0, feedsAtOnce);
      const asked = feeds.map((feed) => ({
        ...feed,
        after: feed.position ?? feed.from.after,
        since: feed.position === null ? feed.from.since : null,
        to: feed.writtenTo,
      }));
      for (const feed of feeds) this.#due.delete(feed);
      try {
        const found = await this.#reads.feeds(asked);
        feeds.forEach((feed, at) => this.#take(feed, asked[at]?.to ?? 0, found[at] as FeedPage));
      } catch (error) {
        this.#logger.debug({ err: error }, 'messages could not be read for those who follow them; it is tried again');
        for (const feed of feeds) if (this.#feeds.get(feed.conversationId) === feed) this.#due.add(feed);
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
    this.#isReading = false;
  }

  #take(feed: Feed, to: number, { entries, hasMore }: FeedPage): void {
    if (this.#feeds.get(feed.conversationId) !== feed) return;
    const last = entries.at(-1)?.position ?? 0;
    // What was told was committed before this read began, so whatever of it was not found was not asked for.
    feed.position = hasMore ? last : Math.max(feed.position ?? feed.from.after, last, to);
    if (hasMore || feed.writtenTo > feed.position) this.#due.add(feed);
    if (entries.length > 0) this.#deliver(feed, entries);
  }
}
