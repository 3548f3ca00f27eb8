export { Farewells } from './farewells.ts';
export { examineSipServer } from './examine-sip-server.ts';
export { HeldCalls } from './held-calls.ts';
export type { DialCaps } from './call-store.ts';
export { LostCalls } from './lost-calls.ts';
export { SipReports } from './sip-reports.ts';
export { SoftphoneDoors } from './softphone-doors.ts';
export type { SoftphoneRules } from './softphone-doors.ts';
