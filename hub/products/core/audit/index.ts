export { Audit, recordAudit, recordAudits } from './audit.ts';
export { changesOf, fieldsOf } from './changes.ts';
