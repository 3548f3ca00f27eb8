import { AppError } from '../../../../shared/errors.ts';
import { violatedConstraint } from '../../../platform/db/database.ts';

/**
 * Converts unique violations of workspace names and email addresses.
 * @param namePath field of the request with the name of the workspace.
 * @throws AppError `email_taken`, `workspace_name_taken`.
 */
export async function mapUniqueViolations<Result>(
  work: () => Promise<Result>,
  namePath = 'body.workspaceName',
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'users_email') throw emailTaken(error);
    if (constraint === 'tenants_name')
      throw new AppError('workspace_name_taken', 'A workspace with this name already exists; choose another name.', {
        cause: error,
        details: [{ path: namePath, message: 'is taken' }],
      });
    throw error;
  }
}

export const emailTaken = (cause?: unknown): AppError =>
  new AppError('email_taken', 'This email address is already in use; sign in instead.', {
    cause,
    details: [{ path: 'body.email', message: 'is taken' }],
  });
