import { AppError } from '../../../../shared/errors.ts';
import { violatedConstraint } from '../../../platform/db/database.ts';

/**
 * Converts unique violations of workspace names and email addresses.
 * @throws AppError `email_taken`, `workspace_name_taken`.
 */
export async function mapUniqueViolations<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'users_email')
      throw new AppError('email_taken', 'This email address is already in use; sign in instead.', {
        cause: error,
        details: [{ path: 'body.email', message: 'is taken' }],
      });
    if (constraint === 'tenants_name')
      throw new AppError('workspace_name_taken', 'A workspace with this name already exists; choose another name.', {
        cause: error,
        details: [{ path: 'body.workspaceName', message: 'is taken' }],
      });
    throw error;
  }
}
