import { AppError } from '../../shared/errors.ts';
import type { App } from '../app.ts';
import type { Common } from './context.ts';

/** Options of what a member does. */
export interface AsAgent extends Common {
  as?: string;
}

/** The member who acts. @throws AppError `not_found` with the remedy. */
export async function agentOf({ identity }: App, { workspace: name, as: email }: AsAgent) {
  const { id: tenantId } = await identity.findWorkspace(name);
  const userId = await identity.members.find(tenantId, email);
  if (userId === null)
    throw new AppError(
      'not_found',
      email === undefined
        ? `The workspace ${name} has no member; add one with: npm run outrigger -- user create`
        : `${email} is no member of the workspace ${name}`,
    );
  return { tenantId, userId };
}
