import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { Run, StepResult } from '../../../../shared/contract/automations/runs.ts';
import { notFound } from '../../../../shared/errors.ts';
import { runTopic } from '../../../engine/index.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { LiveTopics } from '../../../platform/events/live-topics.ts';
import { reserveAnswer } from '../../../platform/large-pages.ts';
import type { MemoryBudget, MemoryReservation } from '../../../platform/process/memory-budget.ts';
import { presentRun, presentSteps } from './present.ts';
import { isFinal } from './rerun.ts';
import { serializeRun } from './run-events.ts';
import type { RunEvents, WantedEvents } from './run-events.ts';
import { SendTurns, SharedReads } from './shared-reads.ts';
import type { Shared } from './shared-reads.ts';
import { readOutline, readRun } from './store.ts';
import type { FoundRun, RunOutline, RunParts } from './store.ts';

/** Poll interval of a caller that waits for a run while events of other processes may be lost, in milliseconds. */
const interruptedLookMs = 1_000;
/**
 * Times between the reads for a caller that waits, in milliseconds; the last one repeats. Until other processes know of the caller,
 * they do not tell that the run has ended.
 */
const rereadMs = [100, 400, 1_500, 5_000, 30_000] as const;
const never = new AbortController().signal;

/** Maximum size of a run that is read before its memory is reserved, in bytes. */
const smallRunBytes = 1024 * 1024;
/** Heap bytes per byte of a run in a response: database text, values and response text. */
const answerHeapPerByte = 4;

export interface RunReaderDependencies {
  db: Database;
  events: Pick<Events, 'isInterrupted'>;
  live: LiveTopics;
  /** Memory budget for responses with large runs. */
  answerMemory: MemoryBudget;
  /** Heartbeat interval of nodes, in seconds. */
  heartbeatSeconds: number;
}

export interface ReadOptions {
  /**
   * Reservation for as long as the caller keeps the result. When omitted, the memory is reserved until the promise
   * resolves.
   */
  memory?: MemoryReservation;
  signal?: AbortSignal;
}

const wholeRun: RunParts = { inputs: true, outputs: true, turns: 'none', indexes: null };

/** Reads runs for callers, within a memory budget. */
export class RunReader {
  readonly #deps: RunReaderDependencies;
  readonly #outlines = new SharedReads<RunOutline | null>();
  readonly #events = new SharedReads<RunEvents>(({ memory }) => memory[Symbol.dispose]());
  readonly #turns = new SendTurns();

  constructor(dependencies: RunReaderDependencies) {
    this.#deps = dependencies;
  }

  /** A memory reservation for runs in a response. Dispose it when the response has been sent. */
  openMemory(tenantId: string): MemoryReservation {
    return this.#deps.answerMemory.open(tenantId);
  }

  /**
   * Reads a run. With `waitSeconds`, it waits until the run has ended or waits for an approval, up to this time.
   * @throws AppError `not_found`; `rate_limited` while earlier large responses to this workspace have not been read.
   */
  async get(
    tenantId: string,
    runId: string,
    options: ReadOptions & { waitSeconds?: number; parts?: RunParts } = {},
  ): Promise<Run> {
    const { waitSeconds = 0, signal, memory, parts = wholeRun } = options;
    const read = async () => presentRun(await this.#read(tenantId, runId, parts, options));
    if (waitSeconds === 0) return read();
    const deadline = performance.now() + waitSeconds * 1000;
    const { events, live } = this.#deps;
    // Followed before the first read, so that no change between the two is missed.
    using follower = live.follow(runTopic(runId));
    const leftMs = () => deadline - performance.now();
    const isOver = () => leftMs() <= 0 || signal?.aborted === true;
    const readIfDue = async () => {
      const run = await read();
      return isSettled(run.status) || isOver() ? run : null;
    };
    for (let reads = 0; ; reads += 1) {
      // An unsettled run is not kept in memory while the caller waits.
      const run = await readIfDue();
      if (run !== null) return run;
      memory?.tryResize(0);
      const rereadAt = performance.now() + (rereadMs[reads] ?? rereadMs[4]);
      let isDue = false;
      while (!isDue && !isOver()) {
        const waitMs = Math.min(leftMs(), interruptedLookMs, rereadAt - performance.now());
        isDue = await follower.next(signal ?? never, Math.max(0, waitMs));
        isDue ||= events.isInterrupted || performance.now() >= rereadAt;
      }
    }
  }

  /**
   * Reads steps of a run by index. Unknown indexes are ignored.
   * @throws AppError as `get` does.
   */
  async steps(
    tenantId: string,
    runId: string,
    parts: RunParts & { indexes: readonly number[] },
    options: ReadOptions,
  ): Promise<StepResult[]> {
    return presentSteps(await this.#read(tenantId, runId, parts, options), parts.indexes);
  }

  /** Reads the status of a run and the versions of its steps. Concurrent callers share one read. @throws AppError `not_found`. */
  async outline(tenantId: string, runId: string): Promise<RunOutline> {
    using found = await this.#outlines.read(`${tenantId} ${runId}`, () =>
      this.#deps.db.read(tenantId, (tx) => readOutline(tx, tenantId, runId)),
    );
    if (found.value === null) throw notFound('run', runId);
    return found.value;
  }

  /**
   * Reads events of a run. Concurrent callers share one read, one serialization and one memory reservation. Callers of
   * a large run continue in different turns of the event loop.
   * @throws AppError as `get` does.
   */
  async events(tenantId: string, runId: string, parts: RunParts, wanted: WantedEvents): Promise<Shared<RunEvents>> {
    const events = await this.#events.read(JSON.stringify([tenantId, runId, parts, wanted]), async () => {
      const memory = this.openMemory(tenantId);
      try {
        const found = await this.#read(tenantId, runId, { ...parts, indexes: wanted.indexes }, { memory });
        return serializeRun(found, wanted, memory);
      } catch (error) {
        memory[Symbol.dispose]();
        throw error;
      }
    });
    await this.#turns.next(events.value.bytes);
    return events;
  }

  async #read(tenantId: string, runId: string, parts: RunParts, { memory, signal }: ReadOptions): Promise<FoundRun> {
    using own = memory === undefined ? this.openMemory(tenantId) : null;
    const reservation = (memory ?? own) as MemoryReservation;
    const { bytes, run } = await this.#find(tenantId, runId, parts, smallRunBytes);
    if (run !== null && reservation.tryResize(bytes * answerHeapPerByte)) return run;
    await reserveAnswer(reservation, bytes * answerHeapPerByte, signal);
    // The run may have grown since its size was read, up to the maximum size of a run.
    return (await this.#find(tenantId, runId, parts, Number.MAX_SAFE_INTEGER)).run as FoundRun;
  }

  async #find(tenantId: string, runId: string, parts: RunParts, maxBytes: number) {
    const { db, heartbeatSeconds } = this.#deps;
    const found = await db.read(tenantId, (tx) => readRun(tx, tenantId, heartbeatSeconds, runId, parts, maxBytes));
    if (found === null) throw notFound('run', runId);
    return found;
  }
}

const isSettled = (status: RunStatus) => isFinal(status) || status === 'waiting_approval';
