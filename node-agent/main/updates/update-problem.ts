/**
 * Why an update is not installed. The message is shown to the owner.
 * `refused`: the offered update must not be installed. `failed`: a later attempt may succeed.
 */
export class UpdateProblem extends Error {
  readonly state: 'refused' | 'failed';

  constructor(state: 'refused' | 'failed', message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'UpdateProblem';
    this.state = state;
  }
}

const noSpaceCodes = new Set(['ENOSPC', 'EDQUOT']);
const permissionCodes = new Set(['EACCES', 'EPERM', 'EROFS']);

/** Describes a file system error with the folder and the remedy. */
export function diskProblem(error: unknown, folder: string): UpdateProblem {
  const code = (error as NodeJS.ErrnoException).code ?? 'error';
  const remedy = noSpaceCodes.has(code)
    ? `There is not enough disk space for the update in ${folder}. Free some, then check again.`
    : permissionCodes.has(code)
      ? `${folder} can't be written (${code}); move the app to your own folder, or fix the folder's permissions.`
      : `${folder} can't be written (${code}). The update will be retried later.`;
  return new UpdateProblem('failed', remedy, { cause: error });
}
