import { AppError } from '../../../../shared/errors.ts';
import { violatedConstraint } from '../../../platform/db/database.ts';

/** Does work that makes a workspace or a person. @throws AppError `email_taken`, `workspace_name_taken`. */
export async function namingTaken<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === 'users_email')
      throw new AppError('email_taken', 'Somebody has this email address already; sign in instead.', {
        cause: error,
        details: [{ path: 'body.email', message: 'is taken' }],
      });
    if (constraint === 'tenants_name')
      throw new AppError('workspace_name_taken', 'There is a workspace of this name already; choose another.', {
        cause: error,
        details: [{ path: 'body.workspaceName', message: 'is taken' }],
      });
    throw error;
  }
}
