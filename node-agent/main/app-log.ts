import { appendFileSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { visibleLine } from '../../shared/visible-text.ts';

export interface LogLimits {
  maxBytes: number;
  /** With the one that is written to. */
  files: number;
}

const limits: LogLimits = { maxBytes: 1024 * 1024, files: 5 };
const maxLineLength = 4_000;
/** Device secrets, keys and sealed texts are long runs of such characters; words, paths and ids are not. */
const secretPattern = /[A-Za-z0-9+_=-]{40,}/g;
const codePattern = /(code=)[^&\s]+/gi;

/** A text for the log: one line, nothing that misleads, and no run of characters that could be a secret. */
export function logText(text: string): string {
  const withoutSecrets = text.replaceAll(codePattern, '$1[left out]').replaceAll(secretPattern, '[left out]');
  return visibleLine(withoutSecrets.replaceAll(/\s*\n\s*/g, ' | ')).slice(0, maxLineLength);
}

/** Lines about the app in files that never grow past their limits. A full disk costs the line, not the app. */
export class AppLog {
  readonly #path: string;
  readonly #limits: LogLimits;

  constructor(path: string, its: LogLimits = limits) {
    this.#path = path;
    this.#limits = its;
  }

  get folder(): string {
    return dirname(this.#path);
  }

  write(event: string, detail = ''): void {
    const line = `${new Date().toISOString()} ${event}${detail === '' ? '' : `: ${logText(detail)}`}\n`;
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) + line.length > this.#limits.maxBytes)
        this.#rotate();
      appendFileSync(this.#path, line, { mode: 0o600 });
    } catch {
      // Nobody could be told.
    }
  }

  #rotate(): void {
    const nameOf = (number: number) => (number === 0 ? this.#path : this.#path.replace(/(\.\w+)?$/, `.${number}$1`));
    rmSync(nameOf(this.#limits.files - 1), { force: true });
    for (let number = this.#limits.files - 2; number >= 0; number -= 1) {
      if (statSync(nameOf(number), { throwIfNoEntry: false }) !== undefined)
        renameSync(nameOf(number), nameOf(number + 1));
    }
  }
}
