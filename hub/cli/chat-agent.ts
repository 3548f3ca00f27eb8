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
  const { data } = await identity.members.list(tenantId, { limit: 100 }, 'admin');
  const member =
    email === undefined
      ? (data.findLast(({ role }) => role === 'admin') ?? data.at(-1))
      : data.find((each) => each.email === email.toLowerCase());
  if (member === undefined)
    throw new AppError('not_found', `${email ?? 'nobody'} is no member of the workspace ${name}`);
  return { tenantId, userId: member.id };
}
