import type { Database } from '../../../platform/db/database.ts';
import type { LiveTopics } from '../../../platform/events/live-topics.ts';
import { workspaceTopic } from '../../../platform/events/workspace-topic.ts';
import type { EventStream } from '../../../platform/http/live/event-stream.ts';
import { WorkspaceFeed } from './feed.ts';
import { decodePosition, encodePosition } from './position.ts';

const lostMessage =
  'Events after the last one that you know are not kept any more: load everything again, and go on from here.';

/** What changes in workspaces, for those who follow it live. */
export class WorkspaceEvents {
  readonly #deps: { db: Database; live: LiveTopics };
  readonly #feeds = new Map<string, { feed: WorkspaceFeed; readers: number }>();

  constructor(dependencies: { db: Database; live: LiveTopics }) {
    this.#deps = dependencies;
  }

  /** Sends a reader what changes in a workspace after the last event that it knows, or from now on, until the stream ends. */
  async follow(tenantId: string, stream: EventStream, lastEventId: string | string[] | undefined): Promise<void> {
    using reader = this.#join(tenantId);
    const { feed } = reader;
    const tell = (type: string, id: string, more: { message?: string } = {}) =>
      stream.send(type, { type, at: new Date().toISOString(), ...more }, id);
    let position = typeof lastEventId === 'string' ? decodePosition(lastEventId) : null;
    if (position === null) {
      position = await feed.begin();
      await tell('ready', encodePosition(position));
    }
    while (!stream.signal.aborted) {
      const stretch = await feed.after(position, stream.signal);
      if (stretch === null) {
        position = await feed.begin();
        await tell('reset', encodePosition(position), { message: lostMessage });
        continue;
      }
      for (const { id, type, data } of stretch.events) {
        if (stream.signal.aborted) return;
        await stream.send(type, data, id);
      }
      position = stretch.to;
    }
  }

  /** The feed of a workspace, which there is as long as it has readers. */
  #join(tenantId: string): Disposable & { feed: WorkspaceFeed } {
    const { db, live } = this.#deps;
    let joined = this.#feeds.get(tenantId);
    if (joined === undefined) {
      joined = { feed: new WorkspaceFeed(db, tenantId, live.follow(workspaceTopic(tenantId))), readers: 0 };
      this.#feeds.set(tenantId, joined);
    }
    const entry = joined;
    entry.readers += 1;
    return {
      feed: entry.feed,
      [Symbol.dispose]: () => {
        entry.readers -= 1;
        if (entry.readers > 0) return;
        this.#feeds.delete(tenantId);
        entry.feed[Symbol.dispose]();
      },
    };
  }
}
