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

export type PresentedKnowledge = z.input<typeof resource.getKnowledge.response> & { version: number };

interface BaseRow {
  version: number;
  terms: string;
  updated_at: Date;
}

export interface KnowledgeDependencies {
  db: Database;
  cursors: Cursors;
  /** Null when the hub has no model for embeddings. */
  vectors: Vectors | null;
}

/** The knowledge from which the AI of a workspace answers. */
export class Knowledge {
  readonly #deps: KnowledgeDependencies;
  readonly #stemmer: Stemmer;
  readonly unanswered: Unanswered;

  constructor(dependencies: KnowledgeDependencies) {
    this.#deps = dependencies;
    this.#stemmer = new Stemmer(dependencies.db);
    this.unanswered = new Unanswered(dependencies);
  }

  async get(tenantId: string): Promise<PresentedKnowledge> {
    const { base, entries } = await this.#deps.db.read(tenantId, async (tx) => {
      const [bases, found] = await Promise.all([
        tx.query<BaseRow>('read_knowledge_base', readBase, [tenantId]),
        tx.query<PresentedKnowledge['entries'][number]>(
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
   * Replaces all knowledge, in one transaction that writes only the differences.
   * @throws AppError `precondition_failed`.
   */
  async put(change: Change): Promise<PresentedKnowledge> {
    await changeKnowledge(this.#deps.db, this.#stemmer, change);
    return this.get(change.tenantId);
  }

  /**
   * Finds entries that answer a question in any language, best first. Without a model for embeddings it uses words
   * only.
   */
  retrieve(tenantId: string, question: string, options: RetrieveOptions): Promise<Passage[]> {
    return retrieve(
      { db: this.#deps.db, stemmer: this.#stemmer, vectorSearch: this.#deps.vectors },
      tenantId,
      question,
      options,
    );
  }

  /** Returns the terms of the business, which apply to every answer; empty when there are none. */
  async readBusinessTerms(tenantId: string): Promise<string> {
    return (await this.#readBase(tenantId))?.terms ?? '';
  }

  /** Counts a question for which no answer was found. */
  recordUnanswered(tenantId: string, conversationId: string, question: string): Promise<void> {
    return this.unanswered.record(tenantId, conversationId, question);
  }

  async #readBase(tenantId: string): Promise<BaseRow | undefined> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<BaseRow>('read_knowledge_base', readBase, [tenantId]),
    );
    return rows[0];
  }

  async #embeddings(tenantId: string, total: number): Promise<PresentedKnowledge['embeddings']> {
    return (await this.#deps.vectors?.progress(tenantId, total)) ?? { state: 'off', done: 0, total };
  }
}

const readBase = 'SELECT version, terms, updated_at FROM knowledge_bases WHERE tenant_id = $1';
