import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import { EmbeddingsError } from '../../../platform/embeddings/embeddings.ts';
import type { Embeddings } from '../../../platform/embeddings/embeddings.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import type { Nearness } from './retrieve.ts';
import {
  countVectors,
  findWaitingWorkspaces,
  noteNoneWaits,
  readVectors,
  readVectorsVersion,
  readWaiting,
  writeVectors,
} from './vector-rows.ts';
import type { VectorTable, WaitingEntry } from './vector-rows.ts';

/** Texts of one request. */
const batch = 64;
/** Of an entry, as much goes to the model, in UTF-16 units: more than most of them read. */
const maxText = 8_000;
const batchTimeoutMs = 30_000;
/** A question waits no longer for its vector: then it is answered by its words alone. */
const questionTimeoutMs = 2_000;
const firstPauseMs = 2_000;
const longestPauseMs = 5 * 60_000;
/** For all the vectors that a process keeps at hand, in bytes. */
const maxCacheBytes = 256 * 1024 * 1024;
const maxQuestions = 1_000;

export interface VectorsDependencies {
  db: Database;
  embeddings: Embeddings;
  logger: Logger;
  now?: () => number;
}

/** Vectors of entries: makes them in the background, and finds by them what is near a question. */
export class Vectors implements Nearness {
  readonly #deps: VectorsDependencies;
  readonly #tables = new LRUCache<string, { version: number; table: VectorTable }>({
    maxSize: maxCacheBytes,
    sizeCalculation: ({ table }) => Math.max(1, table.vectors.byteLength + table.numbers.byteLength),
  });
  readonly #questions = new LRUCache<string, Float32Array>({ max: maxQuestions });
  #pauseMs = firstPauseMs;
  /** Until when nothing is asked, since the model failed. */
  #pausedUntil = 0;
  #turn: Promise<void> | null = null;
  readonly #stopping: AbortSignal;

  constructor(dependencies: VectorsDependencies, stopping: AbortSignal) {
    this.#deps = dependencies;
    this.#stopping = stopping;
  }

  /** Makes the vectors that are due; one turn at a time. */
  makeDue(): Promise<void> {
    if (this.#stopping.aborted) return this.#turn ?? Promise.resolve();
    this.#turn ??= this.#makeAll().finally(() => {
      this.#turn = null;
    });
    return this.#turn;
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
      'the model for embeddings failed; knowledge is found by its words meanwhile',
    );
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
  }

  async #makeAll(): Promise<void> {
    const { db, embeddings } = this.#deps;
    for (const tenantId of await findWaitingWorkspaces(db, embeddings.model)) {
      while (await this.#makeSome(tenantId));
      if (this.#isPaused || this.#stopping.aborted) return;
    }
  }

  /** Whether there may be more. */
  async #makeSome(tenantId: string): Promise<boolean> {
    if (this.#isPaused || this.#stopping.aborted) return false;
    const { db, embeddings } = this.#deps;
    const waiting = await readWaiting(db, tenantId, embeddings.model, batch);
    if (waiting.length === 0) {
      await noteNoneWaits(db, tenantId, embeddings.model);
      return false;
    }
    try {
      await writeVectors(db, tenantId, embeddings.model, await this.#embed(waiting));
      this.#pauseMs = firstPauseMs;
      return true;
    } catch (error) {
      if (this.#stopping.aborted) return false;
      if (!(error instanceof EmbeddingsError)) throw error;
      this.#pause(error);
      return false;
    }
  }

  /** Where the model refuses them together, each by itself, so that one that it will not take keeps no other from it. */
  async #embed(waiting: readonly WaitingEntry[]): Promise<{ number: number; vector: Float32Array | null }[]> {
    const options = { signal: this.#stopping, timeoutMs: batchTimeoutMs };
    try {
      const vectors = await this.#deps.embeddings.embed(waiting.map(textOf), options);
      return waiting.map(({ number }, index) => ({ number, vector: vectors[index] ?? null }));
    } catch (error) {
      if (!(error instanceof EmbeddingsError) || !error.isRefusal) throw error;
      const [only] = waiting;
      if (waiting.length === 1 && only !== undefined) return [{ number: only.number, vector: null }];
      const half = Math.ceil(waiting.length / 2);
      return [...(await this.#embed(waiting.slice(0, half))), ...(await this.#embed(waiting.slice(half)))];
    }
  }

  async #vectorOf(question: string, signal: AbortSignal): Promise<Float32Array> {
    const known = this.#questions.get(question);
    if (known !== undefined) return known;
    const [vector] = await this.#deps.embeddings.embed([question], { signal, timeoutMs: questionTimeoutMs });
    if (vector === undefined) throw new EmbeddingsError('no vector came', { isRefusal: false });
    this.#questions.set(question, vector);
    return vector;
  }

  async #table(tenantId: string): Promise<VectorTable> {
    const { db, embeddings } = this.#deps;
    const version = await readVectorsVersion(db, tenantId);
    const known = this.#tables.get(tenantId);
    if (known?.version === version) return known.table;
    const table = await readVectors(db, tenantId, embeddings.model);
    this.#tables.set(tenantId, { version, table });
    return table;
  }
}

const textOf = ({ question, answer }: WaitingEntry) => `${question}\n${answer}`.slice(0, maxText).toWellFormed();

/** A model finds all texts alike to some degree: this much at most is taken for that. */
const mostAlike = 0.5;

/**
 * The nearest by cosine, exactly: all are looked at. How near each is counts from what they are on average: where a model errs, its nearest stand out little,
 * and take little from what was found by words.
 */
function nearestIn(
  { numbers, vectors, dimensions }: VectorTable,
  asked: Float32Array,
  count: number,
): Map<number, number> | null {
  // Of a model that has changed under its name.
  if (asked.length !== dimensions) return null;
  let sum = 0;
  const cosines = Array.from(numbers, (number, row) => {
    let cosine = 0;
    for (let at = 0, from = row * dimensions; at < dimensions; at += 1)
      cosine += (asked[at] as number) * (vectors[from + at] as number);
    sum += cosine;
    return { number, cosine };
  });
  const alike = Math.min(mostAlike, sum / cosines.length);
  return new Map(
    cosines
      .filter(({ cosine }) => cosine > alike)
      .toSorted((left, right) => right.cosine - left.cosine)
      .slice(0, count)
      .map(({ number, cosine }) => [number, (cosine - alike) / (1 - alike)]),
  );
}
