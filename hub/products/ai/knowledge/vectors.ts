import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import { EmbeddingsError } from '../../../platform/embeddings/embeddings.ts';
import type { Embeddings } from '../../../platform/embeddings/embeddings.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { VectorSearch } from './retrieve.ts';
import {
  countVectors,
  findWaitingWorkspaces,
  markVectorsComplete,
  readVectors,
  readVectorsVersion,
  readEntriesWithoutVector,
  writeVectors,
} from './vector-rows.ts';
import type { VectorTable, EntryWithoutVector } from './vector-rows.ts';

/** Texts per request. */
const batch = 64;
/** Maximum length of a text for the model, in UTF-16 units. Most models read less. */
const maxText = 8_000;
const batchTimeoutMs = 30_000;
const firstPauseMs = 2_000;
const maxPauseMs = 5 * 60_000;
/** Maximum size of the cached vectors of a process, in bytes. */
const maxCacheBytes = 256 * 1024 * 1024;
const maxQuestions = 1_000;

export interface VectorsDependencies {
  db: Database;
  embeddings: Embeddings;
  logger: Logger;
  now?: () => number;
  /** Time limit for the vector of a question. After it, the search uses words only. */
  questionTimeoutMs?: number;
}

/** Computes the vectors of entries in the background and searches them. */
export class Vectors implements VectorSearch {
  readonly #deps: VectorsDependencies;
  readonly #tables = new LRUCache<string, { version: number; table: VectorTable }>({
    maxSize: maxCacheBytes,
    sizeCalculation: ({ table }) => Math.max(1, table.vectors.byteLength + table.numbers.byteLength),
  });
  readonly #questions = new LRUCache<string, Float32Array>({ max: maxQuestions });
  #pauseMs = firstPauseMs;
  /** End of the pause after a failure of the model. */
  #pausedUntil = 0;
  #run: Promise<void> | null = null;
  readonly #stopping: AbortSignal;

  constructor(dependencies: VectorsDependencies, stopping: AbortSignal) {
    this.#deps = dependencies;
    this.#stopping = stopping;
  }

  /** Computes missing vectors. Concurrent calls share one run. */
  embedDue(): Promise<void> {
    if (this.#stopping.aborted) return this.#run ?? Promise.resolve();
    this.#run ??= this.#embedAll().finally(() => {
      this.#run = null;
    });
    return this.#run;
  }

  async progress(
    tenantId: string,
    total: number,
  ): Promise<{ state: 'pending' | 'ready' | 'failing'; done: number; total: number }> {
    const done = Math.min(total, await countVectors(this.#deps.db, tenantId, this.#deps.embeddings.model));
    return { state: done >= total ? 'ready' : this.#isPaused ? 'failing' : 'pending', done, total };
  }

  async nearest(
    tenantId: string,
    question: string,
    count: number,
    signal: AbortSignal,
  ): Promise<Map<number, number> | null> {
    try {
      const table = await this.#table(tenantId);
      if (table.numbers.length === 0 || this.#isPaused) return null;
      return nearestIn(table, await this.#vectorOf(question, signal), count);
    } catch (error) {
      if (!(error instanceof EmbeddingsError)) throw error;
      this.#pause(error);
      return null;
    }
  }

  get #isPaused(): boolean {
    return this.#now() < this.#pausedUntil;
  }

  #now(): number {
    return (this.#deps.now ?? (() => performance.now()))();
  }

  #pause(error: EmbeddingsError): void {
    this.#pausedUntil = this.#now() + this.#pauseMs;
    this.#deps.logger.warn(
      { err: error, part: 'embeddings', retryInMs: this.#pauseMs },
      'the model for embeddings failed; knowledge search uses words only until it recovers',
    );
    this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
  }

  async #embedAll(): Promise<void> {
    const { db, embeddings } = this.#deps;
    for (const tenantId of await findWaitingWorkspaces(db, embeddings.model)) {
      while (await this.#embedBatch(tenantId));
      if (this.#isPaused || this.#stopping.aborted) return;
    }
  }

  /** Computes one batch. Returns whether there may be more. */
  async #embedBatch(tenantId: string): Promise<boolean> {
    if (this.#isPaused || this.#stopping.aborted) return false;
    const { db, embeddings } = this.#deps;
    const entries = await readEntriesWithoutVector(db, tenantId, embeddings.model, batch);
    if (entries.length === 0) {
      await markVectorsComplete(db, tenantId, embeddings.model);
      return false;
    }
    try {
      await writeVectors(db, tenantId, embeddings.model, await this.#embed(entries));
      this.#pauseMs = firstPauseMs;
      return true;
    } catch (error) {
      if (this.#stopping.aborted) return false;
      if (!(error instanceof EmbeddingsError)) throw error;
      this.#pause(error);
      return false;
    }
  }

  /** Splits a refused batch into halves, so that one refused text does not block the others. */
  async #embed(entries: readonly EntryWithoutVector[]): Promise<{ number: number; vector: Float32Array | null }[]> {
    const options = { signal: this.#stopping, timeoutMs: batchTimeoutMs };
    try {
      const vectors = await this.#deps.embeddings.embed(entries.map(textOf), options);
      return entries.map(({ number }, index) => ({ number, vector: vectors[index] ?? null }));
    } catch (error) {
      if (!(error instanceof EmbeddingsError) || !error.isRefusal) throw error;
      const [only] = entries;
      if (entries.length === 1 && only !== undefined) return [{ number: only.number, vector: null }];
      const half = Math.ceil(entries.length / 2);
      return [...(await this.#embed(entries.slice(0, half))), ...(await this.#embed(entries.slice(half)))];
    }
  }

  async #vectorOf(question: string, signal: AbortSignal): Promise<Float32Array> {
    const cached = this.#questions.get(question);
    if (cached !== undefined) return cached;
    const { embeddings, questionTimeoutMs = 2_000 } = this.#deps;
    const [vector] = await embeddings.embed([question], { signal, timeoutMs: questionTimeoutMs });
    if (vector === undefined) throw new EmbeddingsError('the response has no vector', { isRefusal: false });
    this.#questions.set(question, vector);
    return vector;
  }

  async #table(tenantId: string): Promise<VectorTable> {
    const { db, embeddings } = this.#deps;
    const version = await readVectorsVersion(db, tenantId);
    const cached = this.#tables.get(tenantId);
    if (cached?.version === version) return cached.table;
    const table = await readVectors(db, tenantId, embeddings.model);
    this.#tables.set(tenantId, { version, table });
    return table;
  }
}

const textOf = ({ question, answer }: EntryWithoutVector) => `${question}\n${answer}`.slice(0, maxText).toWellFormed();

/** Maximum baseline: models find all texts similar to some degree. */
const maxBaseline = 0.5;

/**
 * Returns the nearest vectors by an exact cosine search. The similarity is relative to the average of all vectors, so
 * that a wrong model has little influence on the result of the word search.
 */
function nearestIn(
  { numbers, vectors, dimensions }: VectorTable,
  queryVector: Float32Array,
  count: number,
): Map<number, number> | null {
  // The model has changed without a new name.
  if (queryVector.length !== dimensions) return null;
  let sum = 0;
  const cosines = Array.from(numbers, (number, row) => {
    let cosine = 0;
    for (let at = 0, from = row * dimensions; at < dimensions; at += 1)
      cosine += (queryVector[at] as number) * (vectors[from + at] as number);
    sum += cosine;
    return { number, cosine };
  });
  const baseline = Math.min(maxBaseline, sum / cosines.length);
  return new Map(
    cosines
      .filter(({ cosine }) => cosine > baseline)
      .toSorted((left, right) => right.cosine - left.cosine)
      .slice(0, count)
      .map(({ number, cosine }) => [number, (cosine - baseline) / (1 - baseline)]),
  );
}
