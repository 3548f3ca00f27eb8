import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CompanionError } from './data-folder.ts';
import { createOwnFile, readOwnFile } from './own-file.ts';

/**
 * Names the process that works on a data folder, in a separate file: so a control socket that was moved or removed does
 * not free the folder. On Windows the control pipe suffices, because no other process can remove it.
 */
export class FolderClaim implements Disposable {
  readonly #folder: string;
  readonly #path: string;
  readonly #text: string | null;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'companion.pid');
    const start = process.platform === 'win32' ? null : startOf(process.pid);
    this.#text = start === null ? null : `${process.pid} ${start}`;
  }

  /** Whether the file names this process. */
  get isOwn(): boolean {
    try {
      return this.#text === null || this.#read() === this.#text;
    } catch {
      return false;
    }
  }

  /** The running process that the file names; null when there is none. @throws CompanionError when it is unreadable. */
  get holder(): number | null {
    const text = this.#text === null ? '' : this.#read();
    const pid = Number.parseInt(text, 10);
    return pid > 0 && text === `${pid} ${startOf(pid)}` ? pid : null;
  }

  /** Writes the file, in place of what is at its path. @throws CompanionError when the file cannot be written. */
  write(): void {
    try {
      if (this.#text !== null) createOwnFile(this.#path, this.#text);
    } catch (error) {
      throw this.#unusable('written', error);
    }
  }

  [Symbol.dispose](): void {
    if (this.#text !== null && this.isOwn) rmSync(this.#path, { force: true });
  }

  #read(): string {
    try {
      return readOwnFile(this.#path).toString();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw this.#unusable('read', error);
    }
  }

  #unusable(what: string, error: unknown): CompanionError {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    const remedy =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'free space on its disk, then start the companion again.'
        : `make sure that no other companion runs on ${this.#folder}, also as another user, then remove ${this.#path}.`;
    return new CompanionError(`${this.#path} can't be ${what} (${code}); ${remedy}`, { cause: error });
  }
}

/**
 * Start time of a process, which distinguishes it from later processes with the same ID. Null when there is no such
 * process, or when it ended and its parent has not reaped it.
 */
function startOf(pid: number): string | null {
  try {
    if (process.platform !== 'linux') {
      const options = ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)];
      const line = execFileSync('ps', options, { encoding: 'utf8', env: { LC_ALL: 'C' } });
      const [state, ...start] = line.trim().split(/\s+/);
      return hasEnded(state) ? null : start.join(' ');
    }
    // The process name, in parentheses, may contain any character. The next field is the state. The start time follows
    // 19 fields later.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[19] === undefined || hasEnded(fields[0]) ? null : `${fields[19]} ${boot}`;
  } catch {
    return null;
  }
}

/** Whether a process is a zombie or dead, by its state. The kernel has then closed its sockets. */
const hasEnded = (state = '') => ['', 'Z', 'X', 'x'].includes(state.charAt(0));
