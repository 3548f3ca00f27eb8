import { RotatingLog } from './rotating-log.ts';

/** Device secrets, keys and sealed texts are long runs of such characters; words, paths and ids are not. */
const secretPattern = /[A-Za-z0-9+_=-]{40,}/g;
const codePattern = /(code=)[^&\s]+/gi;

/** A text for the log: one line, and no run of characters that could be a secret. */
export function logText(text: string): string {
  return text
    .replaceAll(codePattern, '$1[left out]')
    .replaceAll(secretPattern, '[left out]')
    .replaceAll(/(?<!\s)\s*\n\s*/g, ' | ');
}

/** What happened to the app, without a secret. */
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
