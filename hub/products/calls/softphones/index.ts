export { SoftphoneDoors } from './softphone-doors.ts';
export type { SoftphoneRules } from './softphone-doors.ts';
