import { RotatingLog } from './rotating-log.ts';

/** Matches device secrets, keys and sealed texts. Words, paths and ids do not have runs of this length. */
const secretPattern = /[A-Za-z0-9+_=-]{40,}/g;
const codePattern = /(code=)[^&\s]+/gi;

/** Formats a text for the log: one line, with everything that could be a secret removed. */
export function logText(text: string): string {
  return text
    .replaceAll(codePattern, '$1[left out]')
    .replaceAll(secretPattern, '[left out]')
    .replaceAll(/(?<!\s)\s*\n\s*/g, ' | ');
}

/** The log of the app. Secrets are removed. */
export class AppLog {
  readonly folder: string;
  readonly #log: RotatingLog;

  constructor(folder: string) {
    this.folder = folder;
    this.#log = new RotatingLog(folder, 'app');
  }

  write(event: string, detail = ''): void {
    this.#log.write(detail === '' ? event : `${event}: ${logText(detail)}`);
  }
}
