export { Dials } from './dials.ts';
export type { DialCaps } from './dials.ts';
export { examineSipServer } from './examine-sip-server.ts';
export { SoftphoneDoors } from './softphone-doors.ts';
export type { SoftphoneRules } from './softphone-doors.ts';
