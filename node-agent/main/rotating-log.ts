import { closeSync, fchmodSync, fstatSync, mkdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { visibleLine } from '../../shared/visible-text.ts';
import { openOwnFile } from '../runtime/own-file.ts';

const maxBytes = 1024 * 1024;
const files = 5;
const maxLineLength = 8_192;

/**
 * A log with rotation: `NAME.log` and up to four older files of about 1 MiB each, `NAME.1.log` is the newest of them.
 * Only the owner can read them. `write` is synchronous, so a crash of the process loses no lines. Write errors are ignored.
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

  /** Adds a line with a timestamp. Line breaks and control characters are replaced by visible text. */
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
      // For example a full disk or a removed folder. The next line reopens the file.
      this.close();
    }
  }

  close(): void {
    if (this.#handle === null) return;
    try {
      closeSync(this.#handle);
    } catch {
      // The file is already closed.
    }
    this.#handle = null;
  }

  #file(index: number): string {
    return join(this.#folder, index === 0 ? `${this.#name}.log` : `${this.#name}.${index}.log`);
  }

  #open(): number {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const handle = openOwnFile(this.path, 'append');
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
