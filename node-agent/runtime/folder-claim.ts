import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Names the process that works on a data folder, in a separate file: so a control socket that was moved or removed does
 * not free the folder. On Windows the control pipe suffices, because no other process can remove it.
 */
export class FolderClaim implements Disposable {
  readonly #path: string;
  readonly #text: string | null;

  constructor(folder: string) {
    this.#path = join(folder, 'companion.pid');
    const start = process.platform === 'win32' ? null : startOf(process.pid);
    this.#text = start === null ? null : `${process.pid} ${start}`;
  }

  /** Whether the file names this process. */
  get isOwn(): boolean {
    return this.#text === null || this.#read() === this.#text;
  }

  /** The running process that the file names; null when there is none. */
  get holder(): number | null {
    const text = this.#text === null ? '' : this.#read();
    const pid = Number.parseInt(text, 10);
    return pid > 0 && text === `${pid} ${startOf(pid)}` ? pid : null;
  }

  /** @throws the error of the file system. */
  write(): void {
    if (this.#text !== null) writeFileSync(this.#path, this.#text, { mode: 0o600 });
  }

  [Symbol.dispose](): void {
    if (this.#text !== null && this.isOwn) rmSync(this.#path, { force: true });
  }

  #read(): string {
    try {
      return readFileSync(this.#path, 'utf8');
    } catch {
      return '';
    }
  }
}

/** Start time of a process, which distinguishes it from later processes with the same ID. Null for no such process. */
function startOf(pid: number): string | null {
  try {
    if (process.platform !== 'linux')
      return (
        execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } }).trim() ||
        null
      );
    // The process name, in parentheses, may contain any character. The start time is the 20th field after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[19] === undefined ? null : `${fields[19]} ${boot}`;
  } catch {
    return null;
  }
}
