import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../platform/observability/logger.ts';
import { processStart } from '../../platform/process/process-identity.ts';

/** A visit of a run to a step, by one holder of it. */
export interface Visit {
  runId: string;
  fence: string;
  step: number;
}

/** Where a process leaves word of what it is doing, for whoever comes after it. */
export interface WorkingMark {
  /** Does work that nothing can interrupt but the end of the process, with the mark on it meanwhile. */
  during<Result>(visit: Visit, work: () => Result): Result;
}

/** Leaves no word. */
export const unmarked: WorkingMark = { during: (_visit, work) => work() };

/** A run id, a fence and a step, with a blank or the end of the line after each. */
const recordBytes = 36 + 1 + 19 + 1 + 10 + 1;
const blank = Buffer.from(`${' '.repeat(recordBytes - 1)}\n`);
const recordPattern = /^([0-9a-f-]{36}) (\d{1,19}) (\d{1,9}) *\n$/;
const namePattern = /^([0-9a-f]+)-(\d+)-([^-]+)\.mark$/;
/** Marks of another machine say nothing here; those that nobody wrote to for so long are removed, in milliseconds. */
const forgottenAfterMs = 7 * 24 * 60 * 60 * 1000;
const lookEveryMs = 5_000;

/** Processes are told apart only on one machine, or in one container. */
const machine = Buffer.from(hostname()).toString('hex').slice(0, 120) || '0';

function nameOf(pid: number): string {
  return `${machine}-${pid}-${(processStart(pid) ?? 'unknown').replaceAll(/[^A-Za-z0-9]/g, '') || 'unknown'}.mark`;
}

/** What the mark of a process that ended says; null when it was at nothing, or its last word was cut short. */
function parseRecord(text: string): Visit | null {
  const [, runId, fence, step] = recordPattern.exec(text) ?? [];
  return runId === undefined || fence === undefined ? null : { runId, fence, step: Number(step) };
}

/**
 * The mark of this process: one small file, kept open, that names the run and the step for which it does synchronous work, and is blank
 * otherwise. A run that takes its process down (out of memory, a fault of the engine) does so in such work, because everything else is waiting;
 * so of all the runs that a dead process had in hand, the mark tells the one that it died of.
 *
 * What else ends a process (kill -9, the machine) finds a mark on an innocent run only within the microseconds to milliseconds that its own
 * synchronous work takes; a run is blamed when that happens twice at the very same step. With a process that is busy all the time and ended at
 * random, some run is marked each time, but it is one of all that are under way, and must be marked again in the next of its visits: for runs that
 * spend a share s of their time so, that is s² for two such ends of the process, and s is thousandths.
 *
 * A write of so few bytes to an open file reaches the kernel, which outlives the process; it need not reach the disk. Without a file, work goes on unmarked.
 */
export class WorkingMarks implements WorkingMark, AsyncDisposable {
  readonly #folder: string;
  readonly #name = nameOf(process.pid);
  readonly #logger: Logger;
  readonly #count: (visit: Visit) => Promise<void>;
  readonly #record = Buffer.from(blank);
  #file: number | null = null;
  #isWorking = false;
  /** What the file says; null when that is nothing. */
  #mark: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  private constructor(folder: string, count: (visit: Visit) => Promise<void>, logger: Logger) {
    this.#folder = folder;
    this.#count = count;
    this.#logger = logger;
  }

  /**
   * Counts what processes died of that shared the folder, then begins the mark of this one; looks again from time to time, for those that die meanwhile.
   * @param count told of each such visit, more than once should it fail half-way.
   */
  static async open(
    folder: string,
    { count, logger }: { count: (visit: Visit) => Promise<void>; logger: Logger },
  ): Promise<WorkingMarks> {
    const marks = new WorkingMarks(folder, count, logger);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Before there is one of this process: what bears its name is of a predecessor that had the same pid.
    await marks.#look();
    marks.#begin();
    marks.#timer = setInterval(() => {
      marks.#looking ??= marks.#look()
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'could not look for what other processes died of; it is tried again'),
        )
        .finally(() => {
          marks.#looking = null;
        });
    }, lookEveryMs);
    return marks;
  }

  during<Result>(visit: Visit, work: () => Result): Result {
    if (this.#file === null || this.#isWorking) return work();
    const mark = `${visit.runId} ${visit.fence} ${visit.step}`;
    if (this.#mark !== mark) {
      this.#record.fill(0x20, 0, recordBytes - 1);
      this.#record.write(mark, 0, recordBytes - 1, 'latin1');
      this.#write(this.#record);
      // Once for all that is done before the process next waits for anything.
      if (this.#mark === null) setImmediate(() => this.#wipe());
      this.#mark = mark;
    }
    this.#isWorking = true;
    try {
      return work();
    } finally {
      this.#isWorking = false;
    }
  }

  #wipe(): void {
    this.#mark = null;
    this.#write(blank);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#looking;
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
    rmSync(join(this.#folder, this.#name), { force: true });
  }

  #begin(): void {
    try {
      this.#file = openSync(join(this.#folder, this.#name), 'w', 0o600);
      writeSync(this.#file, blank, 0, recordBytes, 0);
    } catch (error) {
      this.#give(error);
    }
  }

  #write(record: Buffer): void {
    if (this.#file === null) return;
    try {
      writeSync(this.#file, record, 0, recordBytes, 0);
    } catch (error) {
      this.#give(error);
    }
  }

  /** No run fails for want of a mark. */
  #give(error: unknown): void {
    this.#logger.warn(
      { err: error },
      'what this process works on can not be written down, so a run that takes it down is not told from others',
    );
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  async #look(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const [, host, pid] = namePattern.exec(name) ?? [];
      if (host === undefined || (name === this.#name && this.#file !== null)) continue;
      const path = join(this.#folder, name);
      if (host !== machine) {
        const facts = await stat(path).catch(() => undefined);
        if (facts !== undefined && Date.now() - facts.mtimeMs > forgottenAfterMs) await rm(path, { force: true });
        continue;
      }
      if (name !== this.#name && name === nameOf(Number(pid))) continue;
      const visit = parseRecord(await readFile(path, 'latin1').catch(() => ''));
      if (visit !== null) await this.#count(visit);
      await rm(path, { force: true });
    }
  }
}
