import type { OwnFile } from '../../shared/companion/state.ts';
import { NotAFileError } from './own-file.ts';

/** A problem that the owner of this machine must solve. Its message is one line that says how. */
export class CompanionError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CompanionError';
    this.exitCode = options.exitCode ?? 1;
  }
}

/** A file of the data folder that cannot be read or parsed. */
export class BrokenFileError extends CompanionError {
  readonly file: OwnFile;
  readonly path: string;
  /** The problem as a sentence. */
  readonly detail: string;

  constructor(file: OwnFile, path: string, why: string, remedy: string, options: { cause?: unknown } = {}) {
    super(`${path} ${why}; ${remedy}`, options);
    this.name = 'BrokenFileError';
    this.file = file;
    this.path = path;
    this.detail = `It ${why}.`;
  }
}

/** A file of the owner's log that cannot be read or written. The owner can set it aside. */
export class LogFileError extends CompanionError {
  constructor(path: string, why: string, options: { cause?: unknown } = {}) {
    super(
      `The log ${path} can't be read or written (${why}). Repair it, or begin a new log with: outrigger-companion audit set-aside`,
      options,
    );
    this.name = 'LogFileError';
  }
}

/** Codes of a file that cannot be used at all. Other errors, such as a full disk, end by themselves. */
const fileErrors = new Set(['EACCES', 'EISDIR', 'ENOENT', 'ELOOP', 'ENOTDIR', 'EPERM', 'EROFS']);

/** Calls `use` with a file of the log. @throws LogFileError when the file cannot be used, else the error of `use`. */
export function useLogFile<Result>(path: string, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw error instanceof NotAFileError || fileErrors.has(code)
      ? new LogFileError(path, code, { cause: error })
      : error;
  }
}
