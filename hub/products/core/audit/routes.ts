import { audit as resource } from '../../../../shared/contract/core/audit.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { Audit } from './audit.ts';

export const auditRoutes = (audit: Audit) =>
  implement(resource, {
    listAuditLog: ({ principal, query }) => audit.list(principal.tenantId, query),
  });
