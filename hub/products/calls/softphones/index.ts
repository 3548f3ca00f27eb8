export { PendingTeardowns } from './pending-teardowns.ts';
export { examineSipServer } from './examine-sip-server.ts';
export { CallLeases } from './call-leases.ts';
export type { DialQuota } from './call-store.ts';
export { LostCalls } from './lost-calls.ts';
export { SipReports } from './sip-reports.ts';
export { SoftphoneSocketGateway } from './softphone-socket-gateway.ts';
export type { SoftphoneRules } from './softphone-socket-gateway.ts';
