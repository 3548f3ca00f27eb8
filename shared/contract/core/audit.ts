import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { id, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const auditEntry = named(
  'AuditEntry',
  z.object({
    id,
    actor: z.string(),
    action: z.string(),
    targetType: z.string(),
    targetId: z.string(),
    details: jsonObject,
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
