import type { Answer } from '../../../app/api.ts';

type Token = Answer<'createApiToken'>;
export type Product = Token['product'];
export type Permission = Token['permissions'][number];

/** Permissions that a token of each product can have. `shared/contract/define.ts` has the same table. */
export const permissionsOf: Record<Product, readonly Permission[]> = {
  automations: ['automations:manage', 'automations:read', 'automations:run', 'approvals:decide'],
  chat: ['chat:write', 'chat:read', 'visitors:read', 'webhooks:manage'],
  ai: ['ai:invoke', 'ai:speak', 'ai:voice', 'knowledge:manage', 'usage:read'],
  voice: ['voice:read', 'voice:export', 'connections:manage'],
};
export const products = Object.keys(permissionsOf) as Product[];

/** Permissions that `automations:manage` includes. */
export const managed: readonly Permission[] = ['automations:read', 'automations:run'];
