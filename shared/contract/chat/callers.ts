import { z } from 'zod';
import { id } from '../common.ts';

/** Callers of Live Chat operations besides API keys, and path parameters that the operations share. */

/** A member of the workspace. */
export const agent = {
  tag: 'Live Chat inbox',
  callers: ['session'],
  role: 'agent',
  entitlement: 'conversations_suite',
} as const;
export const admin = { ...agent, role: 'admin' } as const;

/** A visitor, in the conversation of their session. */
export const visitorOnly = { tag: 'Live Chat page', callers: ['visitor'] } as const;

export const inWorkspace = z.strictObject({ tenantId: id });
export const oneInWorkspace = inWorkspace.extend({ id });
