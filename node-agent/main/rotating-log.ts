import { closeSync, fchmodSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { visibleLine } from '../../shared/visible-text.ts';

const maxBytes = 1024 * 1024;
const files = 5;
const maxLineLength = 8_192;

/**
 * A log of the app: `NAME.log` and up to four older ones, `NAME.1.log` the newest of them, of about 1 MiB each, readable by their owner alone. A line is with
 * the system before `write` is back, so that a crash loses none; a log that can't be written never disturbs who writes.
 */
export class RotatingLog {
  readonly #folder: string;
  readonly #name: string;
  readonly #maxBytes: number;
  readonly #now: () => Date;
  #handle: number | null = null;
  #bytes = 0;

  constructor(
    folder: string,
    name: string,
    { bytes = maxBytes, now = () => new Date() }: { bytes?: number; now?: () => Date } = {},
  ) {
    this.#folder = folder;
    this.#name = name;
    this.#maxBytes = bytes;
    this.#now = now;
  }

  get path(): string {
    return this.#file(0);
  }

  /** Adds a line with its time; what would break a line or a terminal is made visible. */
  write(text: string): void {
    const line = Buffer.from(`${this.#now().toISOString()}  ${visibleLine(text.slice(0, maxLineLength))}\n`);
    try {
      this.#handle ??= this.#open();
      if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes) {
        this.#rotate();
        this.#handle = this.#open();
      }
      writeSync(this.#handle, line);
      this.#bytes += line.length;
    } catch {
      // A full disk or a folder that was removed: the next line opens it anew.
      this.close();
    }
  }

  close(): void {
    if (this.#handle === null) return;
    try {
      closeSync(this.#handle);
    } catch {
      // It is closed.
    }
    this.#handle = null;
  }

  #file(index: number): string {
    return join(this.#folder, index === 0 ? `${this.#name}.log` : `${this.#name}.${index}.log`);
  }

  #open(): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const handle = openSync(this.path, 'a', 0o600);
    if (process.platform !== 'win32') fchmodSync(handle, 0o600);
    this.#bytes = fstatSync(handle).size;
    return handle;
  }

  #rotate(): void {
    this.close();
    rmSync(this.#file(files - 1), { force: true });
    for (let index = files - 2; index >= 0; index -= 1)
      try {
        renameSync(this.#file(index), this.#file(index + 1));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
  }
}
