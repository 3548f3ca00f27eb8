import type { JsonObject } from '../../../../shared/json.ts';

export interface AuditEntry {
  tenantId: string;
  /** `user:<id>`, `token:<id>`, `node:<id>`, `email:<address>`, `platform` or `cli`. */
  actor: string;
  action: string;
  targetType: string;
  targetId: string;
  details: JsonObject;
}
