import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../platform/observability/logger.ts';
import { processStart } from '../../platform/process/process-identity.ts';

/** The execution of a step of a run by one holder of the run. */
export interface Visit {
  runId: string;
  fence: string;
  step: number;
}

/** Records which step this process executes, so that a later process can read it after a crash. */
export interface WorkingMark {
  /** Does synchronous work for a step while the mark names that step. */
  during<Result>(visit: Visit, work: () => Result): Result;
}

/** Records nothing. */
export const unmarked: WorkingMark = { during: (_visit, work) => work() };

/** Length of a record: run id, fence token and step index, each followed by a blank or a line feed. */
const recordBytes = 36 + 1 + 19 + 1 + 10 + 1;
const blank = Buffer.from(`${' '.repeat(recordBytes - 1)}\n`);
const recordPattern = /^([0-9a-f-]{36}) (\d{1,19}) (\d{1,9}) *\n$/;
const namePattern = /^([0-9a-f]+)-(\d+)-([^-]+)\.mark$/;
/** Marks of other machines are not evaluated. They are removed when they were not written for this time, in milliseconds. */
const foreignMarkRetentionMs = 7 * 24 * 60 * 60 * 1000;
/** Interval between two scans for marks of ended processes, in milliseconds. */
const scanIntervalMs = 5_000;

/** Process ids are unique only within one machine or container, so its name is part of the name of a mark. */
const machine = Buffer.from(hostname()).toString('hex').slice(0, 120) || '0';

function fileNameOf(pid: number): string {
  return `${machine}-${pid}-${(processStart(pid) ?? 'unknown').replaceAll(/[^A-Za-z0-9]/g, '') || 'unknown'}.mark`;
}

/** Parses the mark of an ended process. Null if the process did no marked work, or the record is incomplete. */
function parseRecord(text: string): Visit | null {
  const [, runId, fence, step] = recordPattern.exec(text) ?? [];
  return runId === undefined || fence === undefined ? null : { runId, fence, step: Number(step) };
}

/**
 * The mark of this process: one small open file. It names the run and the step of the current synchronous work, and is blank otherwise.
 * A run that crashes its process (out of memory, a fault of the engine) does so during such work, because all other runs wait meanwhile.
 * Therefore the mark identifies the run that crashed the process, among all runs that the process executed.
 *
 * A process can also end for another reason (`kill -9`, a failure of the machine). Then its mark can name an innocent run, but only during the
 * synchronous work of that run, which takes microseconds to milliseconds. A run is blamed only when this happens twice at the same step.
 * If the process is always busy, every such end marks some run in progress. The same run must then be marked again in its next
 * execution of the step. If a run spends the share s of its time in synchronous work, two ends mark it with probability s². s is
 * in the order of thousandths.
 *
 * The few bytes are written to the kernel, which survives the process. They do not need to reach the disk. If the file cannot be
 * written, work continues without a mark.
 */
export class WorkingMarks implements WorkingMark, AsyncDisposable {
  readonly #folder: string;
  readonly #name = fileNameOf(process.pid);
  readonly #logger: Logger;
  readonly #count: (visit: Visit) => Promise<void>;
  readonly #record = Buffer.from(blank);
  #file: number | null = null;
  /** Whether marked work is in progress, so that nested work keeps the outer mark. */
  #isWorking = false;
  /** The content of the file; null if it is blank. */
  #mark: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #scanning: Promise<void> | null = null;

  private constructor(folder: string, count: (visit: Visit) => Promise<void>, logger: Logger) {
    this.#folder = folder;
    this.#count = count;
    this.#logger = logger;
  }

  /**
   * Counts the marks of ended processes that used the same folder, then creates the mark of this process. The scan is repeated at an
   * interval, for processes that end later.
   * @param count is called for each marked step of an ended process. A failure can cause repeated calls for the same mark.
   */
  static async open(
    folder: string,
    { count, logger }: { count: (visit: Visit) => Promise<void>; logger: Logger },
  ): Promise<WorkingMarks> {
    const marks = new WorkingMarks(folder, count, logger);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The first scan precedes the mark of this process: until then, a file of that name belongs to an earlier process with the same pid.
    await marks.#scan();
    marks.#openFile();
    marks.#timer = setInterval(() => {
      marks.#scanning ??= marks.#scan()
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'could not count which runs ended other processes; the scan is retried'),
        )
        .finally(() => {
          marks.#scanning = null;
        });
    }, scanIntervalMs);
    return marks;
  }

  during<Result>(visit: Visit, work: () => Result): Result {
    if (this.#file === null || this.#isWorking) return work();
    const mark = `${visit.runId} ${visit.fence} ${visit.step}`;
    if (this.#mark !== mark) {
      this.#record.fill(0x20, 0, recordBytes - 1);
      this.#record.write(mark, 0, recordBytes - 1, 'latin1');
      this.#write(this.#record);
      // The mark is cleared once for all work until the event loop continues.
      if (this.#mark === null) setImmediate(() => this.#clear());
      this.#mark = mark;
    }
    this.#isWorking = true;
    try {
      return work();
    } finally {
      this.#isWorking = false;
    }
  }

  #clear(): void {
    this.#mark = null;
    this.#write(blank);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#scanning;
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
    rmSync(join(this.#folder, this.#name), { force: true });
  }

  #openFile(): void {
    try {
      this.#file = openSync(join(this.#folder, this.#name), 'w', 0o600);
      writeSync(this.#file, blank, 0, recordBytes, 0);
    } catch (error) {
      this.#disable(error);
    }
  }

  #write(record: Buffer): void {
    if (this.#file === null) return;
    try {
      writeSync(this.#file, record, 0, recordBytes, 0);
    } catch (error) {
      this.#disable(error);
    }
  }

  /** Continues without a mark, so that no run fails because its mark could not be written. */
  #disable(error: unknown): void {
    this.#logger.warn(
      { err: error },
      'the mark of this process could not be written; a run that crashes this process cannot be identified',
    );
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  async #scan(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const [, host, pid] = namePattern.exec(name) ?? [];
      if (host === undefined || (name === this.#name && this.#file !== null)) continue;
      const path = join(this.#folder, name);
      if (host !== machine) {
        const stats = await stat(path).catch(() => undefined);
        if (stats !== undefined && Date.now() - stats.mtimeMs > foreignMarkRetentionMs) await rm(path, { force: true });
        continue;
      }
      if (name !== this.#name && name === fileNameOf(Number(pid))) continue;
      const visit = parseRecord(await readFile(path, 'latin1').catch(() => ''));
      if (visit !== null) await this.#count(visit);
      await rm(path, { force: true });
    }
  }
}
