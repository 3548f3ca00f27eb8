/** Why there is no update now, as the owner reads it; `refused` is what was offered and must not be taken, `failed` what may go well another time. */
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

/** A fault of the file system in words that name the folder and the remedy. */
export function diskProblem(error: unknown, folder: string): UpdateProblem {
  const code = (error as NodeJS.ErrnoException).code ?? 'error';
  const remedy = noSpaceCodes.has(code)
    ? `There is no room for the update in ${folder}; make some, and check again.`
    : permissionCodes.has(code)
      ? `${folder} can't be written (${code}); move the app to a folder of yours, or mend the folder's permissions.`
      : `${folder} can't be written (${code}); the update is tried again later.`;
  return new UpdateProblem('failed', remedy, { cause: error });
}
