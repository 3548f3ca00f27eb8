export { Audit, recordAudit, recordAudits } from './audit.ts';
