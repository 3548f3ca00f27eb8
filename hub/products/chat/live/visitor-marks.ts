import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { markRead } from '../conversations/index.ts';
import { failureOf } from './connection.ts';
import type { Connection } from './connection.ts';
import type { ConversationKey } from './reads.ts';

interface Mark {
  key: ConversationKey;
  seq: number;
  /** Connections that receive an error frame if the mark cannot be stored. */
  from: Set<Connection>;
}

/**
 * Stores the read positions of visitors. One write runs per conversation; marks that arrive meanwhile are merged into
 * the next write.
 */
export class VisitorMarks {
  readonly #db: Database;
  readonly #logger: Logger;
  /** The next mark by conversation, while a write is in progress. Null if there is none. */
  readonly #next = new Map<string, Mark | null>();

  constructor(db: Database, logger: Logger) {
    this.#db = db;
    this.#logger = logger;
  }

  note(key: ConversationKey, seq: number, from: Connection): void {
    const next = this.#next.get(key.conversationId);
    if (next === undefined)
      background(
        this.#run({ key, seq, from: new Set([from]) }),
        this.#logger,
        'storing the read position of a visitor',
      );
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
        await this.#db.workspace(tenantId, (tx) => markRead(tx, tenantId, conversationId, 'visitor', seq), {
          durable: false,
        });
      } catch (error) {
        const frame = failureOf(error);
        for (const connection of from) connection.send(frame);
      }
    }
    this.#next.delete(conversationId);
  }
}
