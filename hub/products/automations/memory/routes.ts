import { memory as resource } from '../../../../shared/contract/automations/memory.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Memory } from './memory.ts';

export const memoryRoutes = (memory: Memory) =>
  implement(resource, {
    listAutomationMemory: ({ principal, query }) => memory.list(principal.tenantId, query),
    putAutomationMemory: ({ principal, body }) => memory.put(principal.tenantId, body),
  });
