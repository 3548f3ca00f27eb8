import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import type { ConversationKey, FeedPage, LiveReads, WrittenEntry } from './reads.ts';

interface Feed extends ConversationKey {
  /** Position up to which the feed was read. Null before the first read. */
  position: number | null;
  /** Where the first read starts. */
  from: { after: number; since: Date | null };
  /** Highest known position of the conversation. */
  writtenTo: number;
  usedAt: number;
}

/** Delay after a failed read. */
const retryMs = 500;
const maxFeedsPerBatch = 200;

/**
 * Reads new messages of the conversations that connections of this process follow.
 * Each message is read and delivered once, in order. Only one read runs at a time, so that concurrent requests share a
 * statement.
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

  /** Starts the feed of a conversation after a position. An existing feed is not changed. */
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
   * Reads the feed up to a position, unless it was read that far already.
   * @param from where a new feed starts.
   */
  readUpTo({ tenantId, conversationId }: ConversationKey, position: number, from: Feed['from']): void {
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
    if (!this.#isReading) background(this.#read(), this.#logger, 'reading messages for live connections');
  }

  forget(conversationId: string): void {
    const feed = this.#feeds.get(conversationId);
    if (feed !== undefined) this.#due.delete(feed);
    this.#feeds.delete(conversationId);
  }

  /** Drops feeds without new messages for `idleMs`, unless `isKept` returns true. */
  prune(idleMs: number, isKept: (key: ConversationKey) => boolean): void {
    const before = performance.now() - idleMs;
    for (const feed of this.#feeds.values())
      if (feed.usedAt < before && !this.#due.has(feed) && !isKept(feed)) this.#feeds.delete(feed.conversationId);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    // Requests of the same event loop turn share the first read.
    await new Promise(setImmediate);
    while (this.#due.size > 0) {
      const feeds = [...this.#due].slice(0, maxFeedsPerBatch);
      const requests = feeds.map((feed) => ({
        ...feed,
        after: feed.position ?? feed.from.after,
        since: feed.position === null ? feed.from.since : null,
        to: feed.writtenTo,
      }));
      for (const feed of feeds) this.#due.delete(feed);
      try {
        const found = await this.#reads.feeds(requests);
        feeds.forEach((feed, at) => this.#apply(feed, requests[at]?.to ?? 0, found[at] as FeedPage));
      } catch (error) {
        this.#logger.debug({ err: error }, 'reading new messages for live connections failed; the read is retried');
        for (const feed of feeds) if (this.#feeds.get(feed.conversationId) === feed) this.#due.add(feed);
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
    this.#isReading = false;
  }

  #apply(feed: Feed, to: number, { entries, hasMore }: FeedPage): void {
    if (this.#feeds.get(feed.conversationId) !== feed) return;
    const last = entries.at(-1)?.position ?? 0;
    // Announced messages were committed before this read. A message that was not found is outside the requested range.
    feed.position = hasMore ? last : Math.max(feed.position ?? feed.from.after, last, to);
    if (hasMore || feed.writtenTo > feed.position) this.#due.add(feed);
    if (entries.length > 0) this.#deliver(feed, entries);
  }
}
