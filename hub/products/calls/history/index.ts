export { importCsv } from './import-csv.ts';
export type { ImportOutcome } from './import-csv.ts';
export { Reconciliation } from './reconcile.ts';
export type { ReconcileOutcome } from './reconcile.ts';
