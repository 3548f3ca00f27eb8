import type { Database } from '../../../platform/db/database.ts';
import type { ChatChanges } from '../changes/index.ts';
import { markRead } from '../conversations/index.ts';
import { failureOf } from './connection.ts';
import type { Connection } from './connection.ts';
import type { ConversationKey } from './reads.ts';

interface Mark {
  key: ConversationKey;
  seq: number;
  /** Hear that it could not be noted. */
  from: Set<Connection>;
}

/** How far visitors have read, as their pages say it: of each conversation one mark is noted at a time, and what is said meanwhile is noted as one. */
export class VisitorMarks {
  readonly #db: Database;
  readonly #changes: ChatChanges;
  /** By conversation, while one is noted: what is to be noted next. */
  readonly #next = new Map<string, Mark | null>();

  constructor(db: Database, changes: ChatChanges) {
    this.#db = db;
    this.#changes = changes;
  }

  note(key: ConversationKey, seq: number, from: Connection): void {
    const next = this.#next.get(key.conversationId);
    if (next === undefined) void this.#run({ key, seq, from: new Set([from]) });
    else if (next === null) this.#next.set(key.conversationId, { key, seq, from: new Set([from]) });
    else {
      next.seq = Math.max(next.seq, seq);
      next.from.add(from);
    }
  }

  async #run(first: Mark): Promise<void> {
    const { tenantId, conversationId } = first.key;
    for (let mark: Mark | null = first; mark !== null; mark = this.#next.get(conversationId) ?? null) {
      const { seq, from } = mark;
      this.#next.set(conversationId, null);
      try {
        const moved = await this.#db.workspace(tenantId, (tx) => markRead(tx, conversationId, 'visitor', seq), {
          durable: false,
        });
        if (moved !== null) this.#changes.tell(tenantId, conversationId, { kind: 'read', who: 'visitor', seq: moved });
      } catch (error) {
        const frame = failureOf(error);
        for (const connection of from) connection.send(frame);
      }
    }
    this.#next.delete(conversationId);
  }
}
