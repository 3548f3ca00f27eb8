import type { Database } from '../../../platform/db/database.ts';
import type { LiveTopics } from '../../../platform/events/live-topics.ts';
import { workspaceTopic } from '../../../platform/events/workspace-topic.ts';
import type { EventStream } from '../../../platform/http/live/event-stream.ts';
import { WorkspaceFeed } from './feed.ts';
import { decodePosition, encodePosition } from './position.ts';
import { isAdmin } from './store.ts';

const resetMessage =
  'Events after your last event are no longer stored. Load all data again, then continue from this event.';

/** Streams the events of workspaces to subscribers. */
export class WorkspaceEvents {
  readonly #deps: { db: Database; live: LiveTopics };
  readonly #feeds = new Map<string, { feed: WorkspaceFeed; subscribers: number }>();

  constructor(dependencies: { db: Database; live: LiveTopics }) {
    this.#deps = dependencies;
  }

  /**
   * Sends the events after `lastEventId`, or from now on without it, until the stream ends. Events for admins are sent
   * only to the user `userId`, while that user is an admin.
   */
  async follow(
    tenantId: string,
    stream: EventStream,
    lastEventId: string | string[] | undefined,
    userId: string | null = null,
  ): Promise<void> {
    const { db } = this.#deps;
    using subscription = this.#join(tenantId);
    const { feed } = subscription;
    const sendNotice = (type: string, id: string, more: { message?: string } = {}) =>
      stream.send(type, { type, at: new Date().toISOString(), ...more }, id);
    let position = typeof lastEventId === 'string' ? decodePosition(lastEventId) : null;
    if (position === null) {
      position = await feed.currentPosition();
      await sendNotice('ready', encodePosition(position));
    }
    while (!stream.signal.aborted) {
      const page = await feed.pageAfter(position, stream.signal);
      if (page === null) {
        position = await feed.currentPosition();
        await sendNotice('reset', encodePosition(position), { message: resetMessage });
        continue;
      }
      for (const { id, type, data, isForAdmins } of page.events) {
        if (stream.signal.aborted) return;
        if (isForAdmins && (userId === null || !(await isAdmin(db, tenantId, userId)))) continue;
        await stream.send(type, data, id);
      }
      position = page.to;
    }
  }

  /** Returns the feed of a workspace. The feed exists while it has subscribers. */
  #join(tenantId: string): Disposable & { feed: WorkspaceFeed } {
    const { db, live } = this.#deps;
    let joined = this.#feeds.get(tenantId);
    if (joined === undefined) {
      joined = { feed: new WorkspaceFeed(db, tenantId, live.follow(workspaceTopic(tenantId))), subscribers: 0 };
      this.#feeds.set(tenantId, joined);
    }
    const entry = joined;
    entry.subscribers += 1;
    return {
      feed: entry.feed,
      [Symbol.dispose]: () => {
        entry.subscribers -= 1;
        if (entry.subscribers > 0) return;
        this.#feeds.delete(tenantId);
        entry.feed[Symbol.dispose]();
      },
    };
  }
}
