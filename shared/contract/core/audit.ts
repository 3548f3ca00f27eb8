import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const auditEntry = named(
  'AuditEntry',
  z.object({
    id: id.describe('Id of the entry'),
    actor: z.string().describe('Who did it, such as `user:<id>`, `token:<id>` or `operator`'),
    action: z.string().describe('What was done, such as `workflow.updated`'),
    targetType: z.string().describe('Kind of the object, such as `workflow`'),
    targetId: z.string().describe('Id of the object'),
    details: jsonObject.describe('Facts about the action; the fields depend on `action`. Secrets are never part of it'),
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
    summary: 'Who changed what',
    params: z.strictObject({ tenantId: id }),
    query: listQuery.extend({
      actor: text(1, 200).optional(),
      targetType: text(1, 100).optional(),
      targetId: text(1, 200).optional(),
    }),
    response: page(auditEntry),
  },
});
