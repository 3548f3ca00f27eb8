import type { z } from 'zod';
import type { knowledgeBase as resource } from '../../../../shared/contract/ai/knowledge.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { changeKnowledge } from './change.ts';
import type { Change } from './change.ts';
import { retrieve } from './retrieve.ts';
import type { Passage, RetrieveOptions } from './retrieve.ts';
import { Stemmer } from './stems.ts';
import { Unanswered } from './unanswered.ts';
import type { Vectors } from './vectors.ts';

export type Shown = z.input<typeof resource.getKnowledge.response> & { version: number };

interface BaseRow {
  version: number;
  terms: string;
  updated_at: Date;
}

export interface KnowledgeDependencies {
  db: Database;
  cursors: Cursors;
  /** Null where the hub has no model for embeddings. */
  vectors: Vectors | null;
}

/** What the AI of a workspace answers from. */
export class Knowledge {
  readonly #deps: KnowledgeDependencies;
  readonly #stemmer: Stemmer;
  readonly unanswered: Unanswered;

  constructor(dependencies: KnowledgeDependencies) {
    this.#deps = dependencies;
    this.#stemmer = new Stemmer(dependencies.db);
    this.unanswered = new Unanswered(dependencies);
  }

  async get(tenantId: string): Promise<Shown> {
    const { base, entries } = await this.#deps.db.read(tenantId, async (tx) => {
      const [bases, found] = await Promise.all([
        tx.query<BaseRow>('read_knowledge_base', readBase, [tenantId]),
        tx.query<Shown['entries'][number]>(
          'read_knowledge',
          'SELECT id, question, answer, url, locale FROM knowledge_entries WHERE tenant_id = $1 ORDER BY id COLLATE "C"',
          [tenantId],
        ),
      ]);
      return { base: bases.rows[0], entries: found.rows };
    });
    return {
      version: base?.version ?? 0,
      entries,
      terms: base?.terms ?? '',
      embeddings: await this.#embeddings(tenantId, entries.length),
      updatedAt: base?.updated_at.toISOString() ?? null,
    };
  }

  /**
   * Replaces all of it, in one transaction that writes what differs.
   * @throws AppError `precondition_failed`.
   */
  async put(change: Change): Promise<Shown> {
    await changeKnowledge(this.#deps.db, this.#stemmer, change);
    return this.get(change.tenantId);
  }

  /** What answers a question, best first; in any language. Where no model for embeddings answers, by words alone. */
  retrieve(tenantId: string, question: string, options: RetrieveOptions): Promise<Passage[]> {
    return retrieve(
      { db: this.#deps.db, stemmer: this.#stemmer, nearness: this.#deps.vectors },
      tenantId,
      question,
      options,
    );
  }

  /** What holds for every answer; empty where nothing does. */
  async terms(tenantId: string): Promise<string> {
    return (await this.#readBase(tenantId))?.terms ?? '';
  }

  /** Counts a question to which nothing was found. */
  recordUnanswered(tenantId: string, conversationId: string, question: string): Promise<void> {
    return this.unanswered.record(tenantId, conversationId, question);
  }

  async #readBase(tenantId: string): Promise<BaseRow | undefined> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<BaseRow>('read_knowledge_base', readBase, [tenantId]),
    );
    return rows[0];
  }

  async #embeddings(tenantId: string, total: number): Promise<Shown['embeddings']> {
    return (await this.#deps.vectors?.progress(tenantId, total)) ?? { state: 'off', done: 0, total };
  }
}

const readBase = 'SELECT version, terms, updated_at FROM knowledge_bases WHERE tenant_id = $1';
