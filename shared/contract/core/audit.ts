import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, instant, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const auditEntry = named(
  'AuditEntry',
  z.object({
    id: id.describe('Id of the entry'),
    actor: z.string().describe('Actor, such as `user:<id>`, `token:<id>` or `operator`'),
    action: z.string().describe('Action, such as `workflow.updated`'),
    targetType: z.string().describe('Type of the target, such as `workflow`'),
    targetId: z.string().describe('Id of the target'),
    details: jsonObject.describe('Details of the action; the fields depend on `action`. Never contains secrets'),
    createdAt: timestamp,
  }),
);

export const audit = defineResource({
  listAuditLog: {
    tag: 'Audit log',
    callers: ['session'],
    role: 'admin',
    method: 'GET',
    path: '/tenants/{tenantId}/audit',
    summary: 'List audit log entries',
    description:
      'Newest first. Filters match exactly and can be combined; entries are deleted after `AUDIT_RETENTION_DAYS` (365 by default).',
    params: z.strictObject({ tenantId: id }),
    query: listQuery.extend({
      from: instant.optional().describe('Only entries at or after this time'),
      to: instant.optional().describe('Only entries before this time'),
      action: text(1, 100).optional().describe('Only entries with this action, such as `workflow.updated`'),
      actor: text(1, 200).optional(),
      targetType: text(1, 100).optional(),
      targetId: text(1, 200).optional(),
    }),
    response: page(auditEntry),
  },
});
