export { Calls } from './service.ts';
export { callTimeRule, isCallTime } from './call-time.ts';
export { fromCell, readCsv } from './csv.ts';
export { ranks } from './merge-calls.ts';
export type { CallEvent } from './merge-calls.ts';
export { closeLostCall, closeSilentCalls, foldCallDays } from './upkeep.ts';
