export { Audit, recordAudit } from './audit.ts';
